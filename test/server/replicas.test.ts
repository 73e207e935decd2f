import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { expect } from "vitest";
import { z } from "zod";
import { defineTool, memoryStore, resource, type Toolkit } from "../../src/index.ts";
import { createMcpHandler, type McpHandlerOptions } from "../../src/server/index.ts";
import type { BusSubscription, Store } from "../../src/store/index.ts";
import { virtualClock } from "../../src/testing/index.ts";
import { sharing } from "../support/sharing.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { all, call, connectClient, eventsOf, serveOverHttp, type TestEndpoint } from "./fixture/client.ts";
import { ask, everyCapability } from "./fixture/stateless.ts";
import { servedToolkit } from "./fixture/toolkit.ts";

const tokens = { ada: "ada-has-a-long-token", eve: "eve-has-a-long-token" };
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

interface Pair extends AsyncDisposable {
  readonly one: TestEndpoint;
  readonly other: TestEndpoint;
  readonly toolkits: readonly [Toolkit, Toolkit];
}

/** Two replicas of one process, which share a store. */
async function twoReplicas(options: McpHandlerOptions = {}): Promise<Pair> {
  const store = memoryStore();
  const toolkits = [servedToolkit({ store: sharing(store) }), servedToolkit({ store: sharing(store) })] as const;
  await Promise.all(toolkits.map((toolkit) => toolkit.start()));
  const [one, other] = [await serveOverHttp(toolkits[0], options), await serveOverHttp(toolkits[1], options)];
  return {
    one,
    other,
    toolkits,
    async [Symbol.asyncDispose]() {
      await Promise.all([one, other].map((endpoint) => endpoint[Symbol.asyncDispose]()));
      await Promise.all(toolkits.map((toolkit) => toolkit.close()));
      await store.close();
    },
  };
}

verifies("V6", "a client whose requests go to one replica after the other is served as by one", async () => {
  await using pair = await twoReplicas();
  const urls = [pair.one.url, pair.other.url];
  const used = new Set<string>();
  let requests = 0;
  const transport = new StreamableHTTPClientTransport(pair.one.url, {
    fetch: (_url, init) => {
      const url = urls[requests++ % 2] ?? pair.one.url;
      used.add(`${init?.method} ${urls.indexOf(url)}`);
      return fetch(url, init);
    },
  });
  const { client, received } = await connectClient(transport as Transport);
  try {
    for (let round = 0; round < 2; round++) {
      expect((await client.listTools()).tools).toHaveLength(9);
      expect(await client.callTool({ name: "ask" })).toMatchObject({
        content: [{ text: expect.stringContaining("Bern") }],
      });
      await client.callTool({ name: "echo", arguments: { text: "ä".repeat(100_000) } });
      const answered = await client.callTool({ name: "echo", arguments: { text: "hi" } });
      expect(answered).toMatchObject({ content: [{ text: "hi" }] });
      await client.callTool({ name: "steps" });
    }
    expect(pair.one.handler.sessions + pair.other.handler.sessions).toBe(1);
    await client.subscribeResource({ uri: "text:note" });
    received.length = 0;
    const owner = pair.toolkits[pair.one.handler.sessions === 1 ? 0 : 1];
    owner?.add(resource.text("note", "new"));
    await until(() => received.some(({ method }) => method === "notifications/resources/updated"));
    await transport.terminateSession();
    expect(pair.one.handler.sessions + pair.other.handler.sessions).toBe(0);
    expect(used).toEqual(
      new Set(["POST 0", "POST 1", "GET 0", "GET 1", "DELETE 0", "DELETE 1"].filter((each) => used.has(each))),
    );
    expect([...used].filter((each) => each.startsWith("POST"))).toHaveLength(2);
  } finally {
    await client.close();
  }
});

verifies("V6", "the stream of a call and its rest after a break come through another replica", async () => {
  await using pair = await twoReplicas();
  const session = await pair.one.begin();
  const stream = await pair.other.post(call(2, "steps", {}, { progressToken: 7 }), session);
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  const events = await all(eventsOf(stream));
  const progress = "notifications/progress";
  const methods = events.map(({ data }) => data && (JSON.parse(data) as { method?: string }).method);
  expect(methods).toEqual(["", progress, progress, progress, "notifications/message", undefined]);
  const headers = { ...session, accept: "text/event-stream", "last-event-id": events[2]?.id ?? "" };
  const rest = await fetch(pair.other.url, { headers });
  expect(await all(eventsOf(rest))).toEqual(events.slice(3));
  const aborted = new AbortController();
  const hanging = pair.other.post(call(3, "hang"), { ...session, accept: "application/json" }, aborted.signal);
  await until(async () => (await pair.one.post(call(3, "echo", { text: "x" }), session)).status === 400);
  aborted.abort();
  await hanging.catch(() => undefined);
  // The client that was connected to the other replica is gone here too.
  await until(async () => (await pair.one.post(call(3, "echo", { text: "x" }), session)).status === 200);
});

verifies("V6", "a session stays that of its principal, and credentials stay where they were given", async () => {
  const records: string[] = [];
  await using pair = await twoReplicas({ tokens, audit: (record) => void records.push(JSON.stringify(record)) });
  const ada = await pair.one.begin(bearer(tokens.ada));
  const who = await pair.other.post(call(1, "whoami"), ada);
  expect(await who.json()).toMatchObject({ result: { content: [{ text: "ada" }] } });
  const stolen = { ...ada, ...bearer(tokens.eve) };
  expect((await pair.other.post(call(1, "whoami"), stolen)).status).toBe(404);
  expect((await fetch(pair.other.url, { headers: { ...stolen, accept: "text/event-stream" } })).status).toBe(404);
  expect((await fetch(pair.other.url, { method: "DELETE", headers: stolen })).status).toBe(404);
  expect((await pair.other.post(call(1, "whoami"), { "mcp-session-id": ada["mcp-session-id"] ?? "" })).status).toBe(
    401,
  );
  const [owner = ""] = (ada["mcp-session-id"] ?? "").split(".");
  for (const id of [owner, `${owner}.`, `${owner}.x`, `${"x".repeat(16)}.x`, "a b.c", `../${owner}.x`, "__proto__.x"])
    expect((await pair.other.post(call(1, "whoami"), { ...ada, "mcp-session-id": id })).status).toBe(404);
  expect(records.join()).not.toMatch(/long-token/);
});

verifies("V6", "a call whose replica dies has an unknown outcome, and the next request begins anew", async () => {
  const store = memoryStore();
  const subscriptions: BusSubscription[] = [];
  const mortal: Store = {
    ...sharing(store),
    bus: store.bus && {
      publish: store.bus.publish,
      subscribe: (channel, listener) => {
        const subscription = store.bus?.subscribe(channel, listener) ?? {
          ready: Promise.resolve(),
          end: () => undefined,
        };
        subscriptions.push(subscription);
        return subscription;
      },
    },
  };
  const clock = virtualClock();
  await using toolkit = servedToolkit({ store: sharing(store) });
  await using dying = servedToolkit({ store: mortal });
  await using endpoint = await serveOverHttp(toolkit, { clock });
  await using owner = await serveOverHttp(dying, { drainMs: 1 });
  const session = await owner.begin();
  const hanging = endpoint.post(call(7, "hang"), session);
  const streamed = endpoint.post(call(8, "hang", {}, { progressToken: 1 }), session);
  const notices = await fetch(endpoint.url, { headers: { ...session, accept: "text/event-stream" } });
  expect(notices.status).toBe(200);
  for (const id of [7, 8]) await until(async () => (await owner.post(call(id, "sum"), session)).status === 400);
  // As if it were killed: nothing of it is subscribed any more.
  for (const subscription of subscriptions) subscription.end();
  await clock.advance(2_000);
  expect(await all(eventsOf(notices))).toHaveLength(1);
  for (const [id, response] of [[7, await hanging] as const, [8, await streamed] as const]) {
    const text = await response.text();
    expect(JSON.parse(text.slice(text.lastIndexOf('{"jsonrpc')))).toMatchObject({
      id,
      result: { isError: true, _meta: { "toolweave/code": "OUTCOME_UNKNOWN" } },
    });
  }
  const after = await endpoint.post(call(9, "echo", { text: "x" }), session);
  expect([after.status, await after.text()]).toEqual([404, expect.stringContaining("initialize")]);
  await store.close();
});

verifies("V6", "an answer that is too large for the bus harms no other", async () => {
  await using pair = await twoReplicas();
  for (const toolkit of pair.toolkits)
    toolkit.add(defineTool({ name: "large", run: () => resource.text("large", "x".repeat(33 * 2 ** 20)) }));
  const session = await pair.one.begin();
  const hanging = pair.other.post(call(1, "hang"), session);
  await until(async () => (await pair.one.post(call(1, "sum"), session)).status === 400);
  const large = await pair.other.post(call(2, "large"), session);
  const lost = await large.text();
  expect(lost).toContain("OUTCOME_UNKNOWN");
  expect(await (await pair.other.post(call(3, "echo", { text: "hi" }), session)).json()).toMatchObject({ id: 3 });
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
  expect((await pair.other.post(cancelled, session)).status).toBe(202);
  expect(await (await hanging).text()).not.toContain("OUTCOME_UNKNOWN");
});

verifies("V6", "a replica that closes ends what it had, and the others go on", async () => {
  await using pair = await twoReplicas({ drainMs: 1 });
  const session = await pair.one.begin();
  const hanging = pair.other.post(call(7, "hang"), session);
  await until(async () => (await pair.one.post(call(7, "sum"), session)).status === 400);
  await pair.one.handler.close();
  await (await hanging).text();
  expect((await pair.other.post(call(8, "echo", { text: "x" }), session)).status).toBe(404);
  const own = await pair.other.begin();
  expect((await pair.other.post(call(8, "echo", { text: "x" }), own)).status).toBe(200);
});

const stateKey = "a key that all the replicas of a test share";
const asks = { method: "tools/call", params: { name: "ask", arguments: {} }, capabilities: everyCapability };
const answerTo = (requestState: string | undefined) => ({
  ...asks,
  id: 2,
  params: { ...asks.params, requestState, inputResponses: { 1: { action: "accept", content: { city: "Bern" } } } },
});

verifies("V6", "an answer that reaches another replica than its call goes on there, once", async () => {
  await using pair = await twoReplicas({ stateKey, tokens });
  const ada = bearer(tokens.ada);
  const first = await ask(pair.one, asks, ada);
  expect(Object.keys(first.result.inputRequests ?? {})).toEqual(["1"]);
  const { requestState } = first.result;
  expect((await ask(pair.other, answerTo(requestState), bearer(tokens.eve))).error?.code).toBe(-32602);
  const done = await ask(pair.other, answerTo(requestState), ada);
  expect(done.result).toMatchObject({ content: [{ text: expect.stringContaining("Bern") }] });
  expect(await ask(pair.other, answerTo(requestState), ada)).toMatchObject({ error: { code: -32602 } });
  expect(await ask(pair.one, answerTo(requestState), ada)).toMatchObject({ error: { code: -32602 } });
});

verifies("V6", "the notifications of a call that goes on elsewhere come with its result", async () => {
  await using pair = await twoReplicas({ stateKey });
  const slow = defineTool({
    name: "slow",
    run: async (_input, context) => {
      const answer = await context.elicit("Which city?", z.object({ city: z.string() }));
      await context.progress(1, 2, "half");
      return JSON.stringify(answer);
    },
  });
  for (const toolkit of pair.toolkits) toolkit.add(slow);
  const meta = { progressToken: 7 };
  const params = { name: "slow", arguments: {} };
  const first = await ask(pair.one, { ...asks, params, meta });
  const { requestState } = first.result;
  const inputResponses = { 1: { action: "accept", content: { city: "Bern" } } };
  const done = await ask(pair.other, { ...asks, params: { ...params, requestState, inputResponses }, meta });
  expect(done.notifications).toMatchObject([
    { method: "notifications/progress", params: { progressToken: 7, progress: 1 } },
  ]);
  expect(done.result).toMatchObject({ content: [{ text: expect.stringContaining("Bern") }] });
});

verifies("V6", "an answer whose replica is gone has an unknown outcome, and nothing runs again", async () => {
  await using pair = await twoReplicas({ stateKey });
  const { requestState } = (await ask(pair.one, asks)).result;
  await pair.one.handler.close();
  const lost = await ask(pair.other, answerTo(requestState));
  expect(lost.result).toMatchObject({ isError: true, _meta: { "toolweave/code": "OUTCOME_UNKNOWN" } });
});

verifies("V6", "replicas that cannot open each other's states say so when they start", async () => {
  const errorsWith = async (...keys: readonly (string | readonly string[] | undefined)[]) => {
    const errors: string[] = [];
    const store = memoryStore();
    const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined };
    const logger = { ...silent, error: (message: string) => void errors.push(message) };
    const toolkits = keys.map(() => servedToolkit({ store: sharing(store) }));
    const handlers = toolkits.map((toolkit, index) =>
      createMcpHandler(toolkit, { logger, ...(keys[index] === undefined ? {} : { stateKey: keys[index] }) }),
    );
    // Their words are on their way in microtasks.
    for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
    await Promise.all(handlers.map((handler) => handler.close()));
    await Promise.all(toolkits.map((toolkit) => toolkit.close()));
    await store.close();
    return errors;
  };
  const next = `${stateKey}, the next one`;
  expect(await errorsWith(undefined)).toEqual([]);
  expect(await errorsWith(stateKey, stateKey)).toEqual([]);
  expect(await errorsWith([next, stateKey], [stateKey, next])).toEqual([]);
  expect(await errorsWith(undefined, undefined)).toEqual([
    expect.stringContaining("this one has no stateKey"),
    expect.stringContaining("Give all the same stateKey"),
  ]);
  expect(await errorsWith(stateKey, next)).toHaveLength(2);
  expect((await errorsWith(stateKey, undefined)).join()).not.toContain(stateKey);
  // Two endpoints of one toolkit.
  const store = memoryStore();
  await using toolkit = servedToolkit({ store });
  const errors: string[] = [];
  const silent = () => undefined;
  const logger = { debug: silent, info: silent, warn: silent, error: (message: string) => void errors.push(message) };
  const handlers = [createMcpHandler(toolkit, { logger }), createMcpHandler(toolkit, { logger })];
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  await Promise.all(handlers.map((handler) => handler.close()));
  expect(errors).toEqual([]);
});
