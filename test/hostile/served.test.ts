import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { expect } from "vitest";
import { defineTool, Toolkit } from "../../src/index.ts";
import { call, serveOverHttp, type TestEndpoint } from "../server/fixture/client.ts";
import { servedToolkit } from "../server/fixture/toolkit.ts";
import { randomOf } from "../support/random.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";

const tokens = { ada: "ada-has-a-long-token", eve: "eve-has-a-long-token" };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

verifies("V3", "a forged session, and that of another principal, are not there", async () => {
  await using toolkit = servedToolkit();
  await using endpoint = await serveOverHttp(toolkit, { tokens });
  const ada = await endpoint.begin(bearer(tokens.ada));
  for (const id of ["1", "__proto__", ada["mcp-session-id"]?.slice(0, -1) ?? ""]) {
    expect((await endpoint.post(call(1, "whoami"), { ...bearer(tokens.eve), "mcp-session-id": id })).status).toBe(404);
  }
  const stolen = { ...ada, ...bearer(tokens.eve) };
  expect((await endpoint.post(call(1, "whoami"), stolen)).status).toBe(404);
  expect((await fetch(endpoint.url, { headers: { ...stolen, accept: "text/event-stream" } })).status).toBe(404);
  expect((await fetch(endpoint.url, { method: "DELETE", headers: stolen })).status).toBe(404);
  expect(await (await endpoint.post(call(1, "whoami"), ada)).json()).toMatchObject({
    result: { content: [{ text: "ada" }] },
  });
});

verifies(
  "V3",
  "a request to another name than its own, or of a foreign page, is refused before anything of it is read",
  async () => {
    await using toolkit = servedToolkit();
    await using endpoint = await serveOverHttp(toolkit);
    const statuses = await Promise.all(
      [
        { host: "evil.example" },
        { host: "localhost.evil.example" },
        { host: "127.0.0.1.evil.example:80" },
        { host: "evil.example@localhost:1" },
        { origin: "https://evil.example" },
        { origin: "null" },
        { origin: "http://localhost.evil.example" },
        { host: "localhost", origin: "http://localhost:5173" },
      ].map((headers) => statusOf(endpoint, headers)),
    );
    expect(statuses).toEqual([403, 403, 403, 403, 403, 403, 403, 400]);
  },
);

/** Of a request without a session, which gets no further than 400. */
function statusOf({ url }: TestEndpoint, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = httpRequest(url, { method: "POST", headers: { "content-type": "application/json", ...headers } });
    sent.on("response", (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    sent.on("error", reject);
    sent.end(JSON.stringify(call(1, "whoami")));
  });
}

verifies("V3", "a body of 100 MB is refused at its limit, declared or not", async () => {
  await using toolkit = servedToolkit();
  await using endpoint = await serveOverHttp(toolkit);
  const size = 100 * 1024 * 1024;
  const declared = await raw(endpoint, [`content-length: ${size}`], () => undefined);
  expect(declared).toMatch(/^HTTP\/1\.1 413 /);
  let written = 0;
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  const chunked = await raw(endpoint, ["transfer-encoding: chunked"], (write) => {
    while (written < size) {
      written += chunk.length;
      if (!write(chunk)) break;
    }
  });
  expect(chunked).toMatch(/^HTTP\/1\.1 413 /);
  expect(written).toBeLessThan(size);
});

verifies("V3", "a body that comes byte by byte is given up after bodyTimeoutMs, and so is its connection", async () => {
  await using toolkit = servedToolkit();
  await using endpoint = await serveOverHttp(toolkit, { bodyTimeoutMs: 100 });
  const answer = await raw(endpoint, ["content-length: 1000"], (write) => void write("{"));
  expect(answer).toMatch(/^HTTP\/1\.1 408 /);
});

/** Sends a request by hand, and gives all that is answered until the connection is ended. `fill` goes on at each drain. */
function raw(
  { url }: TestEndpoint,
  headers: readonly string[],
  fill: (write: (text: string) => boolean) => void,
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(Number(url.port), url.hostname);
    let answer = "";
    const lines = ["POST /mcp HTTP/1.1", `host: localhost:${url.port}`, "content-type: application/json", ...headers];
    const write = (text: string) => !socket.destroyed && socket.write(text);
    socket.on("data", (data) => (answer += String(data)));
    socket.on("drain", () => answer === "" && fill(write));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(answer));
    write(`${lines.join("\r\n")}\r\n\r\n`);
    fill(write);
  });
}

verifies("V3", "sessions without end take the place of none but their own principal's", async () => {
  await using toolkit = servedToolkit();
  await using endpoint = await serveOverHttp(toolkit, { tokens, maxSessionsPerPrincipal: 50, maxSessions: 60 });
  const ada = await endpoint.begin(bearer(tokens.ada));
  const first = await endpoint.begin(bearer(tokens.eve));
  for (let index = 0; index < 300; index += 1) await endpoint.begin(bearer(tokens.eve));
  expect(endpoint.handler.sessions).toBe(51);
  expect((await endpoint.post(call(1, "whoami"), first)).status).toBe(404);
  expect((await endpoint.post(call(1, "whoami"), ada)).status).toBe(200);
});

verifies(
  "V3",
  "a request with the id of one that runs is refused, and messages nested without end are too",
  async () => {
    await using toolkit = servedToolkit();
    await using endpoint = await serveOverHttp(toolkit, { resumeMs: 1 });
    const session = await endpoint.begin();
    const controller = new AbortController();
    const hanging = await endpoint.post(call("same", "hang"), session, controller.signal);
    expect((await endpoint.post(call("same", "echo", { text: "x" }), session)).status).toBe(400);
    const deep = `${"[".repeat(50_000)}${"]".repeat(50_000)}`;
    const nested = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":${deep}}}}`;
    expect(await (await endpoint.post(nested, session)).json()).toMatchObject({ id: 2, error: { code: -32602 } });
    controller.abort();
    await hanging.text().catch(() => undefined);
  },
);

verifies("V3", "of 20 principals at once none gets an answer, a question or a notification of another", async () => {
  const names = Array.from({ length: 20 }, (_, index) => `principal-${index}`);
  const all = Object.fromEntries(names.map((name) => [name, `${name}-has-a-long-token`]));
  await using toolkit = new Toolkit();
  toolkit.add(
    defineTool({
      name: "mine",
      options: { cache: { ttlMs: 60_000 } },
      run: async (_input, context) => {
        const principal = String(context.session.principal);
        await context.progress(1, 1, principal);
        context.logger.info(principal);
        return principal;
      },
    }),
    defineTool({
      name: "ask",
      run: async (_input, context) => {
        const { principal = "" } = context.session;
        const form = { type: "object", properties: { city: { type: "string" } } };
        return `${principal} ${JSON.stringify((await context.elicit(principal, form)).content)}`;
      },
    }),
  );
  await using endpoint = await serveOverHttp(toolkit, { tokens: all });
  const clients = await Promise.all(
    names.map(async (name) => ({ name, ...(await endpoint.connect(bearer(String(all[name])))) })),
  );
  const random = randomOf(15);
  const work = clients.flatMap(({ name, client }) =>
    Array.from({ length: 10 }, async () => {
      const tool = random() < 0.5 ? "mine" : "ask";
      const { content } = await client.callTool({ name: tool, arguments: {} });
      expect(content).toEqual([{ type: "text", text: tool === "mine" ? name : `${name} {"city":"Bern"}` }]);
    }),
  );
  await Promise.all(work);
  await until(() => clients.every(({ received }) => received.length > 0));
  for (const { name, received } of clients) {
    const others = names.filter((other) => other !== name);
    const texts = received.map(({ params }) => JSON.stringify(params));
    expect(texts.filter((text) => others.some((other) => text.includes(`"${other}"`)))).toEqual([]);
  }
});
