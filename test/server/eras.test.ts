import { json } from "node:stream/consumers";
import { describe, expect } from "vitest";
import { defineTool, Toolkit } from "../../src/index.ts";
import { listen } from "../mcp/fixture/http.ts";
import { createModernFixture, listenModern } from "../mcp/fixture/modern-server.ts";
import { verifies } from "../support/verifies.ts";
import { serveOverHttp, type TestEndpoint } from "./fixture/client.ts";
import { ask, everyCapability, type StatelessMessage } from "./fixture/stateless.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The same requests to a server and to a Toolkit before it. */
const script: readonly (readonly [name: string, message: StatelessMessage])[] = [
  ["tools", { method: "tools/list" }],
  ["prompts", { method: "prompts/list" }],
  ["resources", { method: "resources/list" }],
  ["templates", { method: "resources/templates/list" }],
  ["add", { method: "tools/call", params: { name: "add", arguments: { a: 2, b: 3 } } }],
  ["fail", { method: "tools/call", params: { name: "fail", arguments: {} } }],
  ["list", { method: "tools/call", params: { name: "list", arguments: {} } }],
  ["nothing", { method: "tools/call", params: { name: "nothing", arguments: {} } }],
  [
    "progress",
    { method: "tools/call", params: { name: "progress", arguments: { steps: 3 } }, meta: { progressToken: "p" } },
  ],
  ["greet", { method: "prompts/get", params: { name: "greet", arguments: { name: "Ada" } } }],
  ["no prompt", { method: "prompts/get", params: { name: "none" } }],
  ["memo", { method: "resources/read", params: { uri: "memo://one" } }],
  ["pixel", { method: "resources/read", params: { uri: "memo://pixel" } }],
  ["template", { method: "resources/read", params: { uri: "memo://by-name/ada" } }],
  ["no resource", { method: "resources/read", params: { uri: "memo://none" } }],
  ["no tool", { method: "tools/call", params: { name: "none", arguments: {} } }],
];

const listed = ["tools", "prompts", "resources", "resourceTemplates"];

/** Runs it, without what each server says of itself, and of the freshness of its lists. */
async function outcomesOf(endpoint: Pick<TestEndpoint, "post">): Promise<Fields> {
  const outcomes: Record<string, unknown> = {};
  for (const [name, message] of script) {
    const { result, error, notifications } = await ask(endpoint, message);
    const { ttlMs: _ttl, cacheScope: _scope, _meta, ...others } = result;
    const rest: Record<string, unknown> = { ...others };
    for (const field of listed) if (Array.isArray(rest[field])) rest[field] = byName(rest[field]);
    outcomes[name] = { result: rest, code: error?.code, notifications };
  }
  return JSON.parse(JSON.stringify(outcomes)) as Fields;
}

const byName = (list: readonly { readonly name: string }[]) => [...list].sort((a, b) => (a.name < b.name ? -1 : 1));

describe("a server of 2026-07-28 behind a served Toolkit", () => {
  verifies(["V2", "V6"], "says what it says directly, value for value", async () => {
    const fixture = createModernFixture();
    const server = await listenModern(fixture);
    try {
      const url = `${server.origin}/mcp`;
      await using toolkit = new Toolkit();
      toolkit.addConnector(url, { namespace: "up" });
      await toolkit.start();
      await using endpoint = await serveOverHttp(toolkit, { names: "bare" });
      const direct = {
        post: (message: unknown, headers: Record<string, string> = {}) =>
          fetch(url, {
            method: "POST",
            headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
            body: JSON.stringify(message),
          }),
      };
      expect(await outcomesOf(endpoint)).toEqual(await outcomesOf(direct));
    } finally {
      await server.close();
    }
  });

  verifies(["V2", "V6"], "gives a client that shakes hands what its revision has room for", async () => {
    const server = await listenModern(createModernFixture());
    await using toolkit = new Toolkit({
      items: [defineTool({ name: "two", output: { type: "array" }, run: () => [1, 2] })],
    });
    toolkit.addConnector(`${server.origin}/mcp`, { namespace: "up" });
    await toolkit.start();
    const call = (name: string) => ({ method: "tools/call", params: { name, arguments: {} } });
    await using endpoint = await serveOverHttp(toolkit);
    const { client } = await endpoint.connect();
    const { tools } = await client.listTools();
    const schemaOf = (list: unknown, wanted: string) =>
      (list as typeof tools).find(({ name }) => name === wanted)?.outputSchema?.type;
    const names = ["two", "up__list", "up__add"];
    expect(names.map((name) => schemaOf(tools, name))).toEqual([undefined, undefined, "object"]);
    expect(await client.callTool({ name: "up__list" })).toEqual({
      content: [{ type: "text", text: '[1,"two",null]' }],
    });
    expect(await client.callTool({ name: "two" })).toEqual({ content: [{ type: "text", text: "[1,2]" }] });
    expect(await client.callTool({ name: "up__add", arguments: { a: 1, b: 2 } })).toEqual({
      ...{ content: [{ type: "text", text: "see structuredContent" }], structuredContent: { sum: 3 } },
    });
    // The one of 2026-07-28 has all of it.
    const { result } = await ask(endpoint, { method: "tools/list" });
    expect(names.map((name) => schemaOf(result.tools, name))).toEqual(["array", "array", "object"]);
    expect((await ask(endpoint, call("two"))).result).toMatchObject({ structuredContent: [1, 2] });
    expect((await ask(endpoint, call("up__nothing"))).result).toMatchObject({ structuredContent: null });
    await server.close();
  });
});

/** A server of 2026-07-28 by hand, whose tool has structured content and no other. */
async function bareServer(structuredContent: unknown) {
  const results: Readonly<Record<string, object>> = {
    "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
    "tools/list": { tools: [{ name: "bare", inputSchema: { type: "object" } }] },
    "tools/call": { content: [], structuredContent, _meta: { "x/own": 1 } },
  };
  return listen(async (request, response) => {
    const { id, method } = (await json(request)) as { readonly id: unknown; readonly method: string };
    const result = { resultType: "complete", ttlMs: 0, cacheScope: "private", ...results[method] };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
}

verifies(["V2", "V6"], "structured content alone is text to a client whose revision has objects only", async () => {
  const contents = [];
  for (const content of [[1, null], "text", null, { n: 1 }]) {
    const server = await bareServer(content);
    await using toolkit = new Toolkit();
    toolkit.addConnector(server.origin, { namespace: "up" });
    await toolkit.start();
    await using endpoint = await serveOverHttp(toolkit);
    const { client } = await endpoint.connect();
    contents.push(await client.callTool({ name: "up__bare" }));
    await server.close();
  }
  const text = (value: string) => ({ content: [{ type: "text", text: value }], _meta: { "x/own": 1 } });
  const own = { content: [], _meta: { "x/own": 1 } };
  expect(contents).toEqual([text("[1,null]"), text('"text"'), own, { ...own, structuredContent: { n: 1 } }]);
});

verifies(["V4", "V6"], "the end of the Toolkit ends a call that waits for its client", async () => {
  const ended = Promise.withResolvers<unknown>();
  const asking = defineTool({
    name: "ask",
    run: async (_input, context) => {
      context.signal.addEventListener("abort", () => ended.resolve(context.signal.reason), { once: true });
      await context.elicit("Who?", { type: "object", properties: { name: { type: "string" } } });
    },
  });
  const toolkit = new Toolkit({ items: [asking] });
  await using endpoint = await serveOverHttp(toolkit);
  const call = { method: "tools/call", params: { name: "ask" }, capabilities: everyCapability };
  const { result } = await ask(endpoint, call);
  expect(result.resultType).toBe("input_required");
  await toolkit.close();
  expect(String(await ended.promise)).toContain("closed");
  const again = { ...call, params: { ...call.params, requestState: result.requestState, inputResponses: {} } };
  expect((await ask(endpoint, again)).result).toMatchObject({ isError: true, _meta: { "toolweave/code": "CLOSED" } });
});
