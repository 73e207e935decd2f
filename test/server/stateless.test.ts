import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { defineTool, resource, Toolkit } from "../../src/index.ts";
import { mcpConnector } from "../../src/mcp/index.ts";
import { serveStdio } from "../../src/server/index.ts";
import { virtualClock } from "../../src/testing/index.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { eventsOf, initialize, serveOverHttp } from "./fixture/client.ts";
import { ask, everyCapability, statelessBody, statelessHeaders } from "./fixture/stateless.ts";
import { servedToolkit } from "./fixture/toolkit.ts";

const program = fileURLToPath(new URL("fixture/stdio-program.ts", import.meta.url));
const echo = { method: "tools/call", params: { name: "echo", arguments: { text: "hi" } } };
const serverInfo = { "io.modelcontextprotocol/serverInfo": { name: "office", version: "1.2.3" } };
const server = { name: "office", version: "1.2.3" };

describe("requests without a session", () => {
  verifies(
    ["V1", "V6"],
    "are answered one by one, each complete, with the name of the server and its freshness",
    async () => {
      await using toolkit = servedToolkit();
      await using endpoint = await serveOverHttp(toolkit, { server, instructions: "Be kind.", listTtlMs: 5_000 });
      const discovered = await ask(endpoint, { method: "server/discover" });
      expect(discovered.result).toEqual({
        resultType: "complete",
        supportedVersions: ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"],
        capabilities: {
          ...{ tools: { listChanged: true }, prompts: { listChanged: true }, completions: {}, logging: {} },
          resources: { subscribe: true, listChanged: true },
        },
        instructions: "Be kind.",
        ...{ ttlMs: 60_000, cacheScope: "public", _meta: serverInfo },
      });
      const fresh = { resultType: "complete", ttlMs: 5_000, cacheScope: "public", _meta: serverInfo };
      const lists = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
      for (const method of lists) expect((await ask(endpoint, { method })).result).toMatchObject(fresh);
      expect((await ask(endpoint, echo)).result).toEqual({
        resultType: "complete",
        content: [{ type: "text", text: "hi" }],
        _meta: serverInfo,
      });
      const read = await ask(endpoint, { method: "resources/read", params: { uri: "text:note" } });
      expect(read.result).toMatchObject({ contents: [{ text: "remember the milk" }], ttlMs: 0, cacheScope: "private" });
      const rendered = await ask(endpoint, {
        method: "prompts/get",
        params: { name: "greet", arguments: { name: "Ada" } },
      });
      expect(rendered.result.messages).toHaveLength(2);
      const ref = { type: "ref/resource", uri: "city://{name}" };
      const typed = { method: "completion/complete", params: { ref, argument: { name: "name", value: "Be" } } };
      expect((await ask(endpoint, typed)).result).toMatchObject({ completion: { values: ["Bern", "Berlin"] } });
      expect(endpoint.handler.sessions).toBe(0);
    },
  );

  verifies(
    ["V1", "V2", "V6"],
    "get progress and log messages on their own stream, at the level that they ask for",
    async () => {
      await using toolkit = servedToolkit();
      await using endpoint = await serveOverHttp(toolkit, { clock: virtualClock() });
      const steps = { method: "tools/call", params: { name: "steps" } };
      const level = "io.modelcontextprotocol/logLevel";
      const heard = async (meta: object) =>
        (await ask(endpoint, { ...steps, meta: { ...meta } })).notifications.map(({ method }) => method);
      const progress = "notifications/progress";
      expect(await heard({ progressToken: "p" })).toEqual([progress, progress, progress]);
      expect(await heard({ [level]: "info" })).toEqual(["notifications/message"]);
      expect(await heard({ [level]: "error" })).toEqual([]);
      // One that takes no stream gets the result alone.
      const plain = { ...statelessHeaders(steps), accept: "application/json" };
      const answer = await endpoint.post(statelessBody({ ...steps, meta: { progressToken: 1 } }), plain);
      expect(await answer.json()).toMatchObject({ id: 1, result: { content: [{ text: "done" }] } });
    },
  );

  verifies(
    "V6",
    "go on after they asked: what the call logs then is on the stream of the request with the answers",
    async () => {
      const two = { type: "object", properties: { n: { type: "number" } } };
      const sum = defineTool({
        name: "sum",
        run: async (_input, context) => {
          const [one, other] = await Promise.all([context.elicit("One?", two), context.elicit("Other?", two)]);
          await context.progress(1, 2);
          const { content } = await context.elicit("Third?", two);
          context.logger.warn("three");
          return String(Number(one.content?.n) + Number(other.content?.n) + Number(content?.n));
        },
      });
      await using toolkit = new Toolkit({ items: [sum] });
      await using endpoint = await serveOverHttp(toolkit);
      const params = { name: "sum" };
      const request = { method: "tools/call", params, capabilities: everyCapability, meta: { progressToken: "first" } };
      const first = await ask(endpoint, request);
      expect(Object.values(first.result.inputRequests ?? {})).toMatchObject([
        { method: "elicitation/create", params: { message: "One?" } },
        { method: "elicitation/create", params: { message: "Other?" } },
      ]);
      const [a = "", b = ""] = Object.keys(first.result.inputRequests ?? {});
      const n = (value: number) => ({ action: "accept", content: { n: value } });
      const { requestState } = first.result;
      const inputResponses = { [a]: n(1), [b]: n(2) };
      const second = await ask(endpoint, {
        ...request,
        ...{ id: 2, params: { ...params, requestState, inputResponses }, meta: { progressToken: "second" } },
      });
      expect(second.notifications).toMatchObject([{ params: { progressToken: "second", progress: 1, total: 2 } }]);
      const [c = ""] = Object.keys(second.result.inputRequests ?? {});
      const last = await ask(endpoint, {
        ...{ ...request, id: 3, meta: { "io.modelcontextprotocol/logLevel": "debug" } },
        params: { ...params, requestState: second.result.requestState, inputResponses: { [c]: n(3) } },
      });
      expect(last.notifications).toMatchObject([{ method: "notifications/message", params: { level: "warning" } }]);
      expect(last.result).toMatchObject({ resultType: "complete", content: [{ text: "6" }] });
    },
  );

  verifies(
    "V6",
    "are refused where headers and body differ, a field is missing, or the revision is another",
    async () => {
      await using toolkit = servedToolkit();
      const routed = { type: "string", "x-mcp-header": "Region" } as const;
      const floor = { type: "integer", "x-mcp-header": "Floor" } as const;
      toolkit.add(
        defineTool({
          name: "routed",
          input: { type: "object", properties: { region: routed, floor } },
          run: (input) => JSON.stringify(input),
        }),
      );
      await using endpoint = await serveOverHttp(toolkit);
      const codeOf = async (body: unknown, headers: Record<string, string>) => {
        // One answer in JSON, also where this machine takes its time.
        const response = await endpoint.post(body, { ...headers, accept: "application/json" });
        const { error } = (await response.json()) as { readonly error?: { readonly code: number } };
        return [response.status, error?.code];
      };
      const [body, headers] = [statelessBody(echo), statelessHeaders(echo)];
      const { "mcp-name": _name, ...nameless } = headers;
      expect(await codeOf(body, nameless)).toEqual([400, -32020]);
      expect(await codeOf(body, {})).toEqual([400, -32020]);
      expect(await codeOf(body, { ...headers, "mcp-name": "other" })).toEqual([400, -32020]);
      expect(await codeOf(body, { ...headers, "mcp-name": `=?base64?${btoa("echo")}?=` })).toEqual([200, undefined]);
      expect(await codeOf(body, { ...headers, "mcp-name": "=?base64?!?=" })).toEqual([400, -32020]);
      expect(await codeOf(body, { ...headers, "mcp-method": "tools/list" })).toEqual([400, -32020]);
      expect(await codeOf(body, { ...headers, "mcp-protocol-version": "2025-11-25" })).toEqual([400, -32020]);
      expect(await codeOf({ jsonrpc: "2.0", id: 1, method: "tools/list" }, headers)).toEqual([400, -32602]);
      const nothing = statelessBody({ ...echo, meta: { "io.modelcontextprotocol/clientCapabilities": undefined } });
      expect(await codeOf(nothing, headers)).toEqual([400, -32602]);
      const unknown = { method: "tasks/list" };
      expect(await codeOf(statelessBody(unknown), statelessHeaders(unknown))).toEqual([404, -32601]);
      const ping = { method: "ping" };
      expect(await codeOf(statelessBody(ping), statelessHeaders(ping))).toEqual([404, -32601]);
      const none = { method: "resources/read", params: { uri: "x://none" } };
      expect(await codeOf(statelessBody(none), statelessHeaders(none))).toEqual([200, -32602]);
      const call = { method: "tools/call", params: { name: "routed", arguments: { region: "Zürich", floor: 3 } } };
      const marked = {
        ...statelessHeaders(call),
        "mcp-param-region": `=?base64?${Buffer.from("Zürich").toString("base64")}?=`,
      };
      expect(await codeOf(statelessBody(call), { ...marked, "mcp-param-floor": "3.0" })).toEqual([200, undefined]);
      expect(await codeOf(statelessBody(call), marked)).toEqual([400, -32020]);
      expect(await codeOf(statelessBody(call), { ...marked, "mcp-param-floor": "4" })).toEqual([400, -32020]);
      expect(await codeOf(body, { ...headers, "mcp-param-region": "x" })).toEqual([200, undefined]);
      const later = statelessBody({ ...echo, meta: { "io.modelcontextprotocol/protocolVersion": "2099-01-01" } });
      const answer = await endpoint.post(later, { ...headers, "mcp-protocol-version": "2099-01-01" });
      expect([answer.status, await answer.json()]).toMatchObject([
        400,
        { id: 1, error: { code: -32022, data: { supported: expect.arrayContaining(["2026-07-28", "2025-11-25"]) } } },
      ]);
    },
  );

  verifies("V6", "of one era alone are served where the option says so", async () => {
    await using toolkit = servedToolkit();
    await using later = await serveOverHttp(toolkit, { protocol: "2026-07-28" });
    const refused = await later.post(initialize());
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { id: "init", error: { code: -32022, data: { supported: ["2026-07-28"], requested: "2025-11-25" } } },
    ]);
    expect((await fetch(later.url, { headers: { accept: "text/event-stream" } })).status).toBe(405);
    expect((await ask(later, { method: "server/discover" })).result.supportedVersions).toEqual(["2026-07-28"]);
    await using earlier = await serveOverHttp(toolkit, { protocol: "2025-11-25" });
    expect((await ask(earlier, echo)).status).toBe(400);
    const { client } = await earlier.connect();
    expect(await client.callTool(echo.params)).toMatchObject({ content: [{ text: "hi" }] });
  });
});

describe("a stream of changes", () => {
  verifies(
    ["V1", "V6", "E1"],
    "has what was asked for and nothing else, each notification with the id of the request",
    async () => {
      await using toolkit = servedToolkit();
      await using endpoint = await serveOverHttp(toolkit);
      const notifications = { toolsListChanged: true, resourceSubscriptions: ["text:note", "text:none"] };
      const listen = { method: "subscriptions/listen", id: "changes", params: { notifications } };
      const response = await endpoint.post(statelessBody(listen), statelessHeaders(listen));
      const messages: { method?: string; params?: object; result?: object }[] = [];
      const reading = (async () => {
        for await (const { data } of eventsOf(response)) if (data) messages.push(JSON.parse(data));
      })();
      await until(() => messages.length === 1);
      const _meta = { "io.modelcontextprotocol/subscriptionId": "changes" };
      const agreed = { toolsListChanged: true, resourceSubscriptions: ["text:note"] };
      expect(messages[0]).toEqual({
        ...{ jsonrpc: "2.0", method: "notifications/subscriptions/acknowledged" },
        params: { notifications: agreed, _meta },
      });
      for (const name of ["sum", "fail"]) toolkit.remove(name);
      toolkit.remove("greet");
      toolkit.add(resource.text("note", "new"), resource.text("other", "x"));
      await until(() => messages.length === 3);
      expect(messages.slice(1)).toEqual(
        expect.arrayContaining([
          { jsonrpc: "2.0", method: "notifications/tools/list_changed", params: { _meta } },
          { jsonrpc: "2.0", method: "notifications/resources/updated", params: { uri: "text:note", _meta } },
        ]),
      );
      await endpoint.handler.close();
      await reading;
      expect(messages.at(-1)).toMatchObject({ id: "changes", result: { resultType: "complete", _meta } });
      expect(messages).toHaveLength(4);
    },
  );

  verifies("V6", "of a filter that is none is refused", async () => {
    await using toolkit = servedToolkit();
    await using endpoint = await serveOverHttp(toolkit);
    const many = Array.from({ length: 1_001 }, (_each, index) => `text:${index}`);
    const filters = [undefined, 7, { toolsListChanged: "yes" }, { resourceSubscriptions: [7] }];
    for (const notifications of [...filters, { resourceSubscriptions: many }]) {
      const answer = await ask(endpoint, { method: "subscriptions/listen", params: { notifications } });
      expect(answer.error).toMatchObject({ code: -32602 });
    }
  });
});

verifies(
  ["V1", "V2", "V6"],
  "our own connector uses a host without a session, over HTTP and as a child process",
  async () => {
    await using upstream = servedToolkit();
    await using endpoint = await serveOverHttp(upstream);
    await using toolkit = new Toolkit();
    const options = { protocol: "2026-07-28" } as const;
    const http = toolkit.addConnector(mcpConnector({ url: endpoint.url.href }, options), { namespace: "http" });
    const child = { command: process.execPath, args: [program] };
    const stdio = toolkit.addConnector(mcpConnector(child, options), { namespace: "stdio" });
    await toolkit.start();
    expect([http.protocolVersion, stdio.protocolVersion]).toEqual(["2026-07-28", "2026-07-28"]);
    const session = {
      id: "ada",
      elicit: async () => ({ action: "accept" as const, content: { city: "Bern" } }),
      sample: async () => ({
        ...{ role: "assistant" as const, model: "test-model" },
        content: { type: "text" as const, text: "aha" },
      }),
    };
    for (const namespace of ["http", "stdio"]) {
      expect((await toolkit.call(`${namespace}.echo`, { text: "hi" })).toJSON().text).toBe("hi");
      expect((await toolkit.call(`${namespace}.ask`, {}, { session })).toJSON().text).toContain("Bern");
      expect((await toolkit.call(`${namespace}.think`, {}, { session })).toJSON().text).toContain("aha");
      const progress: number[] = [];
      await toolkit.call(`${namespace}.steps`, {}, { onProgress: (each) => void progress.push(each.progress) });
      expect(progress).toEqual([1, 2, 3]);
    }
    const changed = Promise.withResolvers<void>();
    toolkit.on("toolListChanged", ({ namespace }) => namespace === "http" && changed.resolve());
    upstream.add(defineTool({ name: "grown", run: () => "grown" }));
    await changed.promise;
    expect((await toolkit.call("http.grown")).toJSON().text).toBe("grown");
  },
);

verifies("V6", "both eras share one pipe, told apart request by request", async () => {
  await using toolkit = servedToolkit();
  const [input, output] = [new PassThrough(), new PassThrough()];
  await using _service = await serveStdio(toolkit, { input, output });
  const lines = createInterface(output)[Symbol.asyncIterator]();
  const send = async (message: object) => {
    input.write(`${JSON.stringify(message)}\n`);
    return JSON.parse((await lines.next()).value as string) as { readonly id: unknown; readonly result?: object };
  };
  // Some clients shake hands after they have discovered.
  expect(await send(statelessBody({ method: "server/discover" }))).toMatchObject({
    result: { resultType: "complete" },
  });
  expect(await send(initialize())).toMatchObject({ id: "init", result: { protocolVersion: "2025-11-25" } });
  const plain = await send({ jsonrpc: "2.0", id: 3, method: "tools/call", params: echo.params });
  expect(plain.result).toEqual({ content: [{ type: "text", text: "hi" }] });
  expect(await send(statelessBody({ ...echo, id: 4 }))).toMatchObject({ id: 4, result: { resultType: "complete" } });
  const asked = { method: "tools/call", params: { name: "ask", arguments: {} }, capabilities: everyCapability };
  expect(await send(statelessBody({ ...asked, id: 5 }))).toMatchObject({ result: { resultType: "input_required" } });
});

verifies(["V3", "V6"], "the end of stdin ends a process with a call that waits for input", async () => {
  const child = spawn(process.execPath, [program], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const asked = { method: "tools/call", params: { name: "ask", arguments: {} }, capabilities: everyCapability };
  child.stdin.write(`${JSON.stringify(statelessBody(asked))}\n`);
  expect(JSON.parse((await lines.next()).value as string)).toMatchObject({ result: { resultType: "input_required" } });
  child.stdin.end();
  expect(await once(child, "exit")).toEqual([0, null]);
});
