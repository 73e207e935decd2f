import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect } from "vitest";
import type { ConnectorTarget } from "../../src/core/target.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { child, server } from "../support/hand-server.ts";
import { verifies } from "../support/verifies.ts";

const open: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A server over stdio that lists its prompts after its tool `release` was called, and ends at `crash`. */
const script = server(
  `const listed = { "tools/list": { tools: ["release", "crash"].map((name) => ({ name, inputSchema: { type: "object" } })) },
    "resources/list": { resources: [{ uri: "memo://map", name: "map" }] } };
  const give = () => send({ id: asked, result: { prompts: [{ name: "brief" }] } });
  if (listed[m.method]) send({ id: m.id, result: listed[m.method] });
  else if (m.method === "resources/templates/list") send({ id: m.id, error: { code: -32603, message: "broken" } });
  else if (m.method === "prompts/list") asked = m.id;
  else if (m.params?.name === "crash") process.exit(1);
  else if (m.method === "tools/call") { give(); send({ id: m.id, result: { content: [] } }); }`,
  `{ serverInfo: { name: "hand", version: "1" } }; let asked`,
  "{ tools: {}, prompts: {}, resources: {} }",
);

/** The same over HTTP, written by hand. */
async function serve() {
  const methods: string[] = [];
  let asked: ((result: unknown) => void) | undefined;
  const answers: Readonly<Record<string, (answer: (result: unknown) => void) => void>> = {
    initialize: (answer) =>
      answer({
        protocolVersion: "2025-06-18",
        capabilities: { tools: {}, prompts: {}, resources: {} },
        serverInfo: { name: "hand", version: "1" },
      }),
    "tools/list": (answer) =>
      answer({ tools: ["release", "crash"].map((name) => ({ name, inputSchema: { type: "object" } })) }),
    "resources/list": (answer) => answer({ resources: [{ uri: "memo://map", name: "map" }] }),
    "resources/templates/list": (answer) => answer(undefined),
    "prompts/list": (answer) => {
      asked = answer;
    },
    "tools/call": (answer) => {
      answer({ content: [] });
      asked?.({ prompts: [{ name: "brief" }] });
    },
  };
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    if (request.method !== "POST") return response.writeHead(405).end();
    let body = "";
    for await (const chunk of request) body += chunk;
    const { id, method } = JSON.parse(body);
    methods.push(method);
    if (id === undefined) return response.writeHead(202).end();
    const send = (content: object) =>
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ jsonrpc: "2.0", id, ...content }));
    const unknown = () => send({ error: { code: -32601, message: "Method not found" } });
    const known = answers[method];
    if (known === undefined) return unknown();
    known((result) =>
      result === undefined ? send({ error: { code: -32603, message: "broken" } }) : send({ result: result as object }),
    );
  };
  const http = createServer((request, response) => void listener(request, response));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  open.push(() => {
    http.closeAllConnections();
    http.close();
  });
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`, methods };
}

async function connected(target: ConnectorTarget) {
  const toolkit = new Toolkit();
  open.push(() => toolkit.close());
  const connection = toolkit.addConnector(target, { namespace: "far" });
  await toolkit.start();
  return { toolkit, connection };
}

describe.each([
  ["stdio", async () => child(script)],
  ["HTTP", async () => (await serve()).url],
] as const)("a server over %s that gives its prompts late", (_, target) => {
  verifies(["M4", "M6"], "has its tools at once, and each other kind as it comes", async () => {
    const { toolkit, connection } = await connected(await target());
    expect(connection).toMatchObject({ state: "connected", counts: { tool: 2, prompt: 0 } });
    expect((await toolkit.list({ kind: "tool" })).failures).toEqual([]);
    const { count, failures } = await toolkit.list({ kind: ["resource", "template"] });
    expect([count, failures.map(({ error }) => error.code)]).toEqual([1, ["REMOTE_ERROR"]]);
    expect(connection.warnings).toEqual(["`far` has not listed its prompts yet."]);
    const found = toolkit.lookup("brief");
    await toolkit.call("far.release");
    expect((await found).ref).toBe("far.brief");
    await connection.ready();
    expect(connection).toMatchObject({ counts: { tool: 2, prompt: 1, resource: 1 }, warnings: [] });
  });

  verifies("M9", "is closed while it lists", async () => {
    const { toolkit, connection } = await connected(await target());
    const listing = failure(toolkit.list());
    const { processId } = connection;
    await toolkit.close();
    expect((await listing).code).toBe("CLOSED");
    if (processId !== undefined) expect(() => process.kill(processId, 0)).toThrow("ESRCH");
  });
});

describe("a server that gives its prompts late", () => {
  verifies("M5", "lists them after it was killed and started anew", async () => {
    const { toolkit, connection } = await connected(child(script));
    const before = connection.processId;
    const found = toolkit.call("far.brief").catch((error) => error);
    expect(await failure(toolkit.call("far.crash"))).toMatchObject({ code: "OUTCOME_UNKNOWN" });
    expect((await found).code).not.toBe("NOT_FOUND");
    await expect.poll(() => connection.state === "connected" && connection.processId !== before).toBe(true);
    const again = toolkit.lookup("brief");
    await toolkit.call("far.release");
    expect((await again).ref).toBe("far.brief");
  });

  verifies("M6", "is asked for each list once", async () => {
    const { url, methods } = await serve();
    const { toolkit, connection } = await connected(url);
    await toolkit.call("far.release");
    await connection.ready();
    const lists = methods.filter((method) => method.endsWith("/list"));
    expect(lists.toSorted()).toEqual(["prompts/list", "resources/list", "resources/templates/list", "tools/list"]);
    expect(lists[0]).toBe("tools/list");
  });
});
