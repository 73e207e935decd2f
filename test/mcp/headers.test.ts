import type { RequestListener } from "node:http";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import type { ConnectorSession } from "../../src/core/connector.ts";
import { ToolkitError } from "../../src/core/error.ts";
import type { HeaderFunction } from "../../src/core/http-auth.ts";
import type { Session } from "../../src/core/session.ts";
import { type McpConnectorOptions, mcpConnector } from "../../src/mcp/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { closedAfterEach } from "../support/closed-after-each.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { contextOf, never, RecordingHost } from "./fixture/host.ts";
import { listen, sseFixture, streamableFixture } from "./fixture/http.ts";

const open = closedAfterEach();

interface Seen {
  readonly method: string;
  readonly rpc: string;
  readonly message: string;
  readonly token: string | undefined;
}

/** A server, and a fetch that writes down what is sent to it. */
async function recording(handler: RequestListener): Promise<{
  readonly origin: string;
  readonly seen: Seen[];
  readonly fetch: typeof globalThis.fetch;
}> {
  const seen: Seen[] = [];
  const { origin, close } = await listen(handler);
  open.push(close);
  return {
    origin,
    seen,
    fetch: (url, init) => {
      const body = typeof init?.body === "string" ? JSON.parse(init.body) : {};
      const message = String(body.params?.arguments?.message ?? body.params?.requestId ?? "");
      const token = new Headers(init?.headers).get("x-token") ?? undefined;
      seen.push({ method: init?.method ?? "GET", rpc: body.method ?? "", message, token });
      return fetch(url, init);
    },
  };
}

async function connect(
  url: string,
  { host = new RecordingHost(), ...options }: McpConnectorOptions & { readonly host?: RecordingHost } = {},
): Promise<ConnectorSession> {
  const session = await mcpConnector(url, options).connect({ signal: never, host });
  open.push(async () => session[Symbol.asyncDispose]());
  return session;
}

const transports: readonly (readonly [name: string, path: string, make: () => RequestListener])[] = [
  ["Streamable HTTP", "/mcp", () => streamableFixture().handler],
  ["Streamable HTTP as JSON", "/mcp", () => streamableFixture({ json: true }).handler],
  ["SSE", "/sse", () => sseFixture()],
];

const sessionOf = (id: string): Session => ({ id });

describe.each(transports)("headers over %s", (_name, path, make) => {
  verifies("M11", "a function gives each request the headers of the session whose call it is", async () => {
    const { origin, seen, fetch } = await recording(make());
    const headers: HeaderFunction = async ({ session, url, signal }) => {
      expect(url).toBe(`${origin}${path}`);
      expect(signal.aborted).toBe(false);
      await new Promise((resolve) => setImmediate(resolve));
      return { "X-Token": session === undefined ? "nobody" : `token of ${session.id}` };
    };
    const session = await connect(`${origin}${path}`, { headers, fetch });
    await session.list.tool?.({});
    const calls = Array.from({ length: 20 }, (_, index) => {
      const id = index % 2 === 0 ? "anna" : "bert";
      return session.call("echo", { message: id }, contextOf({ session: sessionOf(id) }));
    });
    await Promise.all(calls);
    await session.read?.("memo://one", {});
    const called = seen.filter(({ rpc }) => rpc === "tools/call");
    expect(called).toHaveLength(20);
    for (const { message, token } of called) expect(token).toBe(`token of ${message}`);
    const rest = seen.filter(({ rpc }) => rpc !== "tools/call");
    expect(rest.some(({ method }) => method === "GET")).toBe(true);
    for (const { token } of rest) expect(token).toBe("nobody");
  });

  verifies("M11", "a cancel belongs to the session of the call it cancels", async () => {
    const { origin, seen, fetch } = await recording(make());
    const headers: HeaderFunction = ({ session }) => ({ "X-Token": session?.id ?? "nobody" });
    const session = await connect(`${origin}${path}`, { headers, fetch });
    const abort = new AbortController();
    const hanging = session.call("hang", {}, contextOf({ session: sessionOf("anna"), signal: abort.signal }));
    hanging.catch(() => {});
    await session.call("echo", { message: "bert" }, contextOf({ session: sessionOf("bert") }));
    abort.abort(new Error("enough"));
    await session.call("cancelled", { count: 1 }, contextOf({ session: sessionOf("bert") }));
    expect(seen.find(({ rpc }) => rpc === "notifications/cancelled")?.token).toBe("anna");
  });

  verifies("M11", "what a function throws fails its request, which was not sent, and nothing else", async () => {
    const { origin, seen, fetch } = await recording(make());
    const cause = new Error("the vault is sealed");
    let thrown: unknown = cause;
    const headers: HeaderFunction = ({ session }) => {
      if (session?.id === "anna") throw thrown;
      return { "X-Token": "t" };
    };
    const session = await connect(`${origin}${path}`, { headers, fetch });
    const call = (id: string) => session.call("echo", { message: id }, contextOf({ session: sessionOf(id) }));
    const hanging = session.call("hang", {}, contextOf({ session: sessionOf("bert") }));
    const error = await failure(call("anna"));
    expect(error).toMatchObject({ code: "UNAVAILABLE", cause });
    expect(error.message).toContain("the vault is sealed");
    thrown = new ToolkitError("UNAUTHORIZED", "Anna has to log in.", { target: "x" });
    expect(await failure(call("anna"))).toBe(thrown);
    expect(await (await call("bert")).text()).toBe("Echo: bert");
    expect(await Promise.race([hanging, "still there"])).toBe("still there");
    expect(seen.filter(({ message }) => message === "anna")).toEqual([]);
    hanging.catch(() => {});
  });

  verifies("M11", "what cannot be sent is named, and never quoted", async () => {
    const { origin, fetch } = await recording(make());
    let given: unknown;
    const headers = (({ session }) => (session === undefined ? {} : given)) as HeaderFunction;
    const session = await connect(`${origin}${path}`, { headers, fetch });
    const call = () => failure(session.call("echo", { message: "x" }, contextOf({ session: sessionOf("anna") })));
    for (const [value, named] of [
      [{ "X-Token": "s3cret\r\nX-Other: 1" }, '"X-Token"'],
      [{ "X Token": "s3cret!" }, '"X Token"'],
      [{ "X-Token": 5 }, '"X-Token" must be a string'],
      [{ "X-Token": undefined }, '"X-Token" must be a string'],
      [undefined, "an object of strings"],
      ["s3cret!", "an object of strings"],
    ] as const) {
      given = value;
      const error = await call();
      expect(error.code).toBe("INVALID_CONFIG");
      expect(error.message).toContain(named);
      expect(inspect(error, { depth: 9 })).not.toContain("s3cret");
    }
    given = {};
    await session.call("echo", { message: "x" }, contextOf({ session: sessionOf("anna") }));
  });

  test("a function that never answers holds up neither the end of its call nor the end of the session", async () => {
    const { origin, fetch } = await recording(make());
    const headers: HeaderFunction = ({ session }) => (session === undefined ? {} : new Promise(() => {}));
    const session = await connect(`${origin}${path}`, { headers, fetch });
    const abort = new AbortController();
    const context = contextOf({ session: sessionOf("anna"), signal: abort.signal });
    const call = session.call("echo", { message: "x" }, context);
    abort.abort(new Error("enough"));
    await expect(call).rejects.toThrow("enough");
    const other = failure(session.call("echo", { message: "x" }, contextOf({ session: sessionOf("bert") })));
    await session[Symbol.asyncDispose]();
    expect((await other).code).toBe("OUTCOME_UNKNOWN");
  });
});

verifies("M11", "what a function gives stays out of errors and logs, even where the server echoes it", async () => {
  const { origin } = await recording(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const { id, method } = JSON.parse(text === "" ? "{}" : text);
    const json = (value: unknown) =>
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
    const initialized = {
      protocolVersion: "2025-06-18",
      capabilities: { tools: {} },
      serverInfo: { name: "echo", version: "1" },
    };
    const tools = [{ name: "leak", inputSchema: { type: "object" } }];
    if (method === "initialize") json({ jsonrpc: "2.0", id, result: initialized });
    else if (method === "tools/list") json({ jsonrpc: "2.0", id, result: { tools } });
    else if (method === "tools/call") {
      const message = `your token is ${request.headers.authorization}`;
      json({ jsonrpc: "2.0", id, error: { code: -32000, message, data: { echoed: [message] } } });
    } else response.writeHead(method === undefined ? 405 : 202).end();
  });
  const heard: unknown[] = [];
  const note = (...said: unknown[]) => void heard.push(said);
  await using toolkit = new Toolkit({ logger: { debug: note, info: note, warn: note, error: note } });
  toolkit.on("*", note);
  const headers: HeaderFunction = ({ session }) => ({ Authorization: `Bearer s3cret-of-${session?.id ?? "nobody"}` });
  toolkit.addConnectors({ mcpServers: { leaky: { url: `${origin}/mcp` } } }, { headers });
  await toolkit.start();
  const error = await failure(toolkit.call("leaky.leak", {}, { session: sessionOf("anna") }));
  expect(error.code).toBe("REMOTE_ERROR");
  expect(error.message).toContain("your token is ***");
  expect(inspect([error, heard, toolkit.connections], { depth: 12, showHidden: true })).not.toContain("s3cret");
});

verifies("M11", "headers and auth are for a URL, and auth stands alone", () => {
  const auth = { open: () => ({ authorization: () => undefined, refused: async () => {} }) };
  const wrong: readonly (readonly [unknown, McpConnectorOptions, string])[] = [
    [{ command: "x" }, { headers: () => ({}) }, '"headers" are for a URL'],
    [{ command: "x" }, { auth }, '"auth" is for a URL'],
    ["http://127.0.0.1/mcp", { auth, headers: { authorization: "Bearer x" } }, "give one of them"],
    ["http://user:pass@127.0.0.1/mcp", { auth }, "give one of them"],
    ["http://127.0.0.1/mcp", { auth: {} as never }, '"auth" must be'],
  ];
  for (const [target, options, message] of wrong) {
    expect(() => mcpConnector(target as string, options)).toThrow(message);
  }
});
