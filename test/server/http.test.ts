import { expect } from "vitest";
import { resource } from "../../src/index.ts";
import { createMcpHandler } from "../../src/server/index.ts";
import { virtualClock } from "../../src/testing/index.ts";
import { until } from "../support/until.ts";
import { verifies } from "../support/verifies.ts";
import { all, call, eventsOf, initialize, serveOverHttp } from "./fixture/client.ts";
import { servedToolkit } from "./fixture/toolkit.ts";

verifies(
  ["V1", "V2"],
  "a client of the SDK uses a host over Streamable HTTP, asked by its tools meanwhile",
  async () => {
    await using toolkit = servedToolkit();
    await using endpoint = await serveOverHttp(toolkit);
    const { client, received } = await endpoint.connect();
    expect((await client.listTools()).tools).toHaveLength(9);
    expect(await client.callTool({ name: "ask" })).toMatchObject({
      content: [{ text: expect.stringContaining("Bern") }],
    });
    expect(await client.callTool({ name: "think" })).toMatchObject({
      content: [{ text: expect.stringContaining("aha") }],
    });
    await client.callTool({ name: "steps" });
    await until(() => received.some(({ method }) => method === "notifications/message"));
    expect(received.map(({ method }) => method).slice(0, 2)).toEqual(["elicitation/create", "sampling/createMessage"]);
    expect(endpoint.handler.sessions).toBe(1);
  },
);

verifies(["V1", "E1"], "every change is a notification for the sessions that it concerns, a burst is one", async () => {
  await using toolkit = servedToolkit();
  await using endpoint = await serveOverHttp(toolkit);
  const [one, two] = [await endpoint.connect(), await endpoint.connect()];
  await one.client.subscribeResource({ uri: "text:note" });
  // The stream for notifications is opened beside the first requests; what comes before is kept for it.
  for (const name of ["sum", "fail", "picture"]) toolkit.remove(name);
  toolkit.add(resource.text("note", "new"), resource.text("other", "x"));
  const list = (kind: string) => `notifications/${kind}/list_changed`;
  await until(() => one.received.length >= 3 && two.received.length >= 2);
  expect(one.received).toEqual(
    expect.arrayContaining([
      { method: list("tools"), params: undefined },
      { method: list("resources"), params: undefined },
      { method: "notifications/resources/updated", params: { uri: "text:note" } },
    ]),
  );
  expect(two.received.map(({ method }) => method).sort()).toEqual([list("resources"), list("tools")]);
  await one.client.unsubscribeResource({ uri: "text:note" });
  toolkit.add(resource.text("note", "newer"), resource.text("third", "x"));
  await until(() => two.received.length >= 3);
  expect(one.received.filter(({ method }) => method === "notifications/resources/updated")).toHaveLength(1);
});

verifies("V1", "an answer that comes at once is JSON; one with something before it is a stream of events", async () => {
  await using toolkit = servedToolkit();
  // On which a request never takes long.
  await using endpoint = await serveOverHttp(toolkit, { clock: virtualClock() });
  const session = await endpoint.begin();
  const plain = await endpoint.post(call(1, "echo", { text: "hi" }), session);
  expect(plain.headers.get("content-type")).toBe("application/json");
  expect(await plain.json()).toEqual({ jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text: "hi" }] } });
  const stream = await endpoint.post(call(2, "steps", {}, { progressToken: 7 }), session);
  expect(stream.headers.get("content-type")).toBe("text/event-stream");
  const events = await all(eventsOf(stream));
  const methods = events.map(({ data }) => data && (JSON.parse(data) as { method?: string }).method);
  const progress = "notifications/progress";
  expect(methods).toEqual(["", progress, progress, progress, "notifications/message", undefined]);
  const only = await endpoint.post(call(3, "steps"), { ...session, accept: "application/json" });
  expect(await only.json()).toMatchObject({ id: 3, result: { content: [{ text: "done" }] } });
});

verifies("V1", "without sessions each request stands for itself", async () => {
  await using toolkit = servedToolkit();
  await using endpoint = await serveOverHttp(toolkit, { sessions: false });
  const { client } = await endpoint.connect();
  expect(await client.callTool({ name: "echo", arguments: { text: "hi" } })).toMatchObject({
    content: [{ text: "hi" }],
  });
  expect(client.getServerCapabilities()?.tools).toEqual({});
  expect((await endpoint.post(call(1, "echo", { text: "raw" }))).headers.get("mcp-session-id")).toBeNull();
  // The client that could be asked is none here: a tool that asks gets no answer.
  expect(await client.callTool({ name: "ask" })).toMatchObject({ content: [{ text: '{"action":"decline"}' }] });
  expect((await fetch(endpoint.url, { headers: { accept: "text/event-stream" } })).status).toBe(405);
  expect(endpoint.handler.sessions).toBe(0);
});

verifies("V1", "the same handler serves the Fetch standard", async () => {
  await using toolkit = servedToolkit();
  await using handler = createMcpHandler(toolkit, { clock: virtualClock() });
  const send = (body: unknown, headers: Record<string, string> = {}) =>
    handler.fetch(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: { "content-type": "application/json", accept: "application/json, text/event-stream", ...headers },
        body: JSON.stringify(body),
      }),
    );
  const begun = await send(initialize());
  const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
  expect(await begun.json()).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  expect(await (await send(call(1, "echo", { text: "hi" }), session)).json()).toMatchObject({
    result: { content: [{ text: "hi" }] },
  });
  const events = await all(eventsOf(await send(call(2, "steps", {}, { progressToken: 1 }), session)));
  expect(events).toHaveLength(6);
  expect((await send({ jsonrpc: "2.0", method: "notifications/initialized" }, session)).status).toBe(202);
  const gone = await handler.fetch(new Request("http://evil.example/mcp", { method: "POST" }));
  expect(gone.status).toBe(403);
});

verifies(
  "V4",
  "a client that vanishes cancels its calls: at once without a stream, after resumeMs with one",
  async () => {
    await using toolkit = servedToolkit();
    await using endpoint = await serveOverHttp(toolkit, { resumeMs: 50 });
    const session = await endpoint.begin();
    let ended = 0;
    toolkit.on("callFinished", () => (ended += 1));
    const first = new AbortController();
    const begun = new Promise((resolve) => toolkit.on("callStarted", resolve));
    const request = endpoint.post(call(1, "hang"), session, first.signal).catch(() => undefined);
    await begun;
    first.abort();
    await request;
    await until(() => ended === 1);
    const second = new AbortController();
    const stream = await endpoint.post(call(2, "hang"), session, second.signal);
    expect(stream.headers.get("content-type")).toBe("text/event-stream");
    second.abort();
    await until(() => ended === 2);
  },
);

verifies("V4", "closing refuses new requests, lets running ones finish, and ends the rest after drainMs", async () => {
  await using toolkit = servedToolkit();
  await using endpoint = await serveOverHttp(toolkit, { drainMs: 300 });
  const session = await endpoint.begin();
  const hanging = await endpoint.post(call(1, "hang"), session);
  const closing = endpoint.handler.close();
  expect((await endpoint.post(call(2, "echo", { text: "late" }), session)).status).toBe(503);
  await closing;
  expect((await all(eventsOf(hanging))).map(({ data }) => data)).toEqual([""]);
  expect(endpoint.handler.sessions).toBe(0);
});

verifies(
  "V5",
  "a client whose connection was lost comes back with Last-Event-ID, and gets what it missed and the answer",
  async () => {
    await using toolkit = servedToolkit();
    await using endpoint = await serveOverHttp(toolkit);
    const answer = await endpoint.post(initialize({ elicitation: {} }));
    const session = { "mcp-session-id": answer.headers.get("mcp-session-id") ?? "" };
    const lost = new AbortController();
    const stream = await endpoint.post(call(1, "ask"), session, lost.signal);
    const events = eventsOf(stream);
    const primed = (await events.next()).value;
    expect(primed).toMatchObject({ data: "" });
    const question = JSON.parse(String((await events.next()).value?.data)) as { readonly id: number };
    lost.abort();
    const back = await fetch(endpoint.url, {
      headers: { ...session, accept: "text/event-stream", "last-event-id": String(primed?.id) },
    });
    const rest = eventsOf(back);
    expect(JSON.parse(String((await rest.next()).value?.data))).toEqual(question);
    await endpoint.post(
      { jsonrpc: "2.0", id: question.id, result: { action: "accept", content: { city: "Bern" } } },
      session,
    );
    expect(JSON.parse(String((await rest.next()).value?.data))).toMatchObject({
      id: 1,
      result: { content: expect.any(Array) },
    });
    // Again, though all was sent: the answer may have been lost on the way.
    const again = await fetch(endpoint.url, {
      headers: { ...session, accept: "text/event-stream", "last-event-id": String(primed?.id) },
    });
    expect(await all(eventsOf(again))).toHaveLength(2);
    const unknown = await fetch(endpoint.url, {
      headers: { ...session, accept: "text/event-stream", "last-event-id": "77-1" },
    });
    expect(unknown.status).toBe(404);
  },
);
