import { expect } from "vitest";
import type { BusEvent, MessageBus } from "../../src/core/message-bus.ts";
import { memoryStore, type Store } from "../../src/index.ts";
import { createMcpHandler, type McpHandler } from "../../src/server/index.ts";
import { call, initialize, serveOverHttp } from "../server/fixture/client.ts";
import { ask, everyCapability } from "../server/fixture/stateless.ts";
import { servedToolkit } from "../server/fixture/toolkit.ts";
import { randomOf } from "../support/random.ts";
import { sharing } from "../support/sharing.ts";
import { verifies } from "../support/verifies.ts";

const stateKey = "a key that all the replicas of a test share";

/** A store that notes the channels to which its toolkit subscribes. */
function watched(): { readonly store: Store; readonly bus: MessageBus; readonly channels: Set<string> } {
  const store = memoryStore();
  const channels = new Set<string>();
  const { bus } = store;
  if (bus === undefined) throw new Error("It has no bus.");
  const subscribe = (channel: string, listener: (event: BusEvent) => void) => {
    channels.add(channel);
    return bus.subscribe(channel, listener);
  };
  return { store: { ...sharing(store), bus: { publish: bus.publish, subscribe } }, bus, channels };
}

verifies("V6", "messages on the bus that make no sense change nothing, whatever is in them", async () => {
  const { store, bus, channels } = watched();
  await using toolkit = servedToolkit({ store });
  await using endpoint = await serveOverHttp(toolkit, { stateKey, allowAnonymous: true });
  const session = await endpoint.begin();
  const view = toolkit.view({ exclude: ["*.none"] });
  const waiting = await view.call("echo", { text: "x" }, { needsApproval: "so" }).catch((error: unknown) => error);
  const { id: approval } = (waiting as { readonly details: { readonly id: string } }).details;
  const stranger = "s".repeat(16);
  const own = [...channels].find((channel) => channel.startsWith("replica:"))?.slice("replica:".length) ?? "";
  const lines = [`${stranger}.1`, `${own}.1`, "1", "", "__proto__", 7, null, undefined, {}, [], "x".repeat(100_000)];
  const types = ["open", "data", "end", "lost", "beat", "none", 1, undefined];
  const kinds = ["request", "answer", "__proto__", "constructor", 1, undefined];
  const payloads = [
    ...[undefined, null, 1, "text", [], {}],
    { method: "POST", path: "/", headers: {}, body: "{" },
    { method: "POST", path: "/", headers: { host: 1 }, body: "" },
    { method: "DELETE", path: "/", headers: { "mcp-session-id": "1" }, body: "", principal: "ada" },
    { method: "GET", path: "//[", headers: JSON.parse('{"__proto__": "x", "mcp-session-id": "\\u0000"}'), body: "" },
    { call: "1", round: 1, envelope: {}, responses: {} },
    { call: "__proto__", round: Number.NaN, envelope: [], responses: null },
  ];
  const random = randomOf(7);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  for (let count = 0; count < 2_000; count++) {
    const from = pick([stranger, own, "", 1, undefined, "../x"]);
    const message = pick<unknown>([
      {
        type: pick(types),
        from,
        line: pick(lines),
        lines: pick<unknown>([lines, "x", undefined]),
        kind: pick(kinds),
        payload: pick(payloads),
        data: pick(payloads),
      },
      {
        id: pick([approval, "none", 1]),
        decision: pick<unknown>([{}, null, { approved: "yes" }, { approved: true, more: 1 }]),
      },
      { id: pick([approval, "none", 1]), completion: pick<unknown>([{}, null, { result: 1, error: 2 }]) },
      { from, keys: pick<unknown>([[], [1], "x", lines]), to: pick<unknown>([own, stranger, undefined, 1]) },
      pick(payloads) ?? null,
    ]);
    await bus.publish(pick([...channels]), message);
  }
  const asked = await ask(endpoint, { method: "tools/call", params: { name: "ask" }, capabilities: everyCapability });
  expect(asked.result.requestState).toEqual(expect.any(String));
  const answered = await endpoint.post(call(1, "echo", { text: "hi" }), session);
  expect(await answered.json()).toMatchObject({ result: { content: [{ text: "hi" }] } });
  expect((await toolkit.approvals.get(approval)).status).toBe("pending");
  expect(endpoint.handler.sessions).toBe(1);
});

verifies("V6", "the lines of one replica are beyond the reach of another", async () => {
  const { store, bus, channels } = watched();
  await using toolkit = servedToolkit({ store });
  await using endpoint = await serveOverHttp(toolkit);
  const session = await endpoint.begin();
  const own = [...channels].find((channel) => channel.startsWith("replica:")) ?? "";
  const [one, stranger] = ["o".repeat(16), "s".repeat(16)];
  const received: unknown[] = [];
  const answered = Promise.withResolvers<void>();
  bus.subscribe(`replica:${one}`, (event) => {
    received.push(event);
    if ("message" in event && (event.message as { type?: string }).type === "end") answered.resolve();
  });
  const headers = { ...session, "content-type": "application/json", accept: "application/json" };
  const body = JSON.stringify(call(5, "hang"));
  const payload = { method: "POST", path: "/", headers, body };
  await bus.publish(own, { type: "open", from: one, line: `${one}.1`, kind: "request", payload });
  const busy = async () => (await endpoint.post(call(5, "sum"), session)).status === 400;
  while (!(await busy()));
  // Another names the line, and begins one in the name of the first.
  for (const type of ["end", "lost"]) await bus.publish(own, { type, from: stranger, lines: [`${one}.1`] });
  await bus.publish(own, { type: "open", from: stranger, line: `${one}.2`, kind: "request", payload });
  expect(await busy()).toBe(true);
  expect(received).toEqual([]);
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } };
  expect((await endpoint.post(cancelled, session)).status).toBe(202);
  await answered.promise;
});

verifies("V6", "a principal that has a thousand requests forwarded takes no place of another", async () => {
  const tokens = { eve: "eve-has-a-long-token", ada: "ada-has-a-long-token" };
  const store = memoryStore();
  await using toolkit = servedToolkit({ store: sharing(store) });
  await using neighbour = servedToolkit({ store: sharing(store) });
  const options = { tokens, maxConcurrentRequests: 5_000, drainMs: 1 };
  await using one = createMcpHandler(toolkit, options);
  await using other = createMcpHandler(neighbour, options);
  const post = (handler: McpHandler, who: keyof typeof tokens, message: object, session: object = {}) => {
    const accept = "application/json, text/event-stream";
    const authorization = `Bearer ${tokens[who]}`;
    const headers = { accept, "content-type": "application/json", authorization, ...session };
    const request = { method: "POST", headers, body: JSON.stringify(message) };
    return handler.fetch(new Request("http://localhost/mcp", request));
  };
  const begin = async (who: keyof typeof tokens) => {
    const begun = await post(one, who, initialize());
    return { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  };
  const [eve, ada] = [await begin("eve"), await begin("ada")];
  const hanging = Array.from({ length: 1_000 }, (_, id) => post(other, "eve", call(id + 1, "hang"), eve));
  const further = await post(other, "eve", call(5_000, "whoami"), eve);
  expect([further.status, further.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await (await post(other, "ada", call(1, "whoami"), ada)).json()).toMatchObject({ id: 1 });
  expect(await (await post(one, "eve", call(5_001, "whoami"), eve)).json()).toMatchObject({ id: 5_001 });
  await one.close();
  await Promise.all(hanging.map(async (each) => (await each).text()));
  await store.close();
});
