import { expect, test } from "vitest";
import { ConnectionRequests } from "../../src/connection/connection-requests.ts";
import type { ConnectorSession } from "../../src/core/connector.ts";
import { ToolkitError } from "../../src/core/error.ts";
import { settle, virtualClock } from "../../src/testing/virtual-clock.ts";

const session = { server: { name: "weather" } } as unknown as ConnectorSession;

function makeRequests(clock = virtualClock()): ConnectionRequests {
  const unavailable = () => new ToolkitError("UNAVAILABLE", "still connecting", { namespace: "weather" });
  const connection = { namespace: "weather", start: () => undefined, unavailable };
  return new ConnectionRequests(connection, {
    clock,
    maxConcurrentCalls: 1_000,
    maxQueuedCalls: 10_000,
    waitMs: 60_000,
  });
}

const hang = () => new Promise<never>(() => undefined);

test("a request that is over, however it ended, is held by nothing", async () => {
  const requests = makeRequests();
  requests.resume(session);
  const failing = new Error("failed");
  const sends: (() => Promise<string>)[] = [
    async () => "answer",
    () => Promise.reject(failing),
    () => {
      throw failing;
    },
  ];
  const made = sends.map((send) => requests.send({ options: {}, send, lost: "UNAVAILABLE" }));
  expect(requests.size).toBe(2);
  const results = await Promise.allSettled(made);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  expect(requests.size).toBe(0);
  const hanging = requests.send({ options: {}, send: hang, lost: "OUTCOME_UNKNOWN" });
  requests.fail(session, undefined);
  await expect(hanging).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN", details: { namespace: "weather" } });
  expect(requests.size).toBe(0);
});

test("the end of a session fails its own requests, and none of another", async () => {
  const requests = makeRequests();
  requests.resume(session);
  const before = requests.send({ options: {}, send: hang, lost: "UNAVAILABLE" });
  const answer = Promise.withResolvers<string>();
  requests.pause();
  requests.resume({ ...session });
  const after = requests.send({ options: {}, send: () => answer.promise, lost: "UNAVAILABLE" });
  await requests.failUnanswered(session);
  await expect(before).rejects.toMatchObject({ code: "UNAVAILABLE" });
  expect(requests.size).toBe(1);
  answer.resolve("answer");
  expect(await after).toBe("answer");
});

test("a connection that is lost again before a waiting request runs is waited for again", async () => {
  const requests = makeRequests();
  const sent: ConnectorSession[] = [];
  const send = async (to: ConnectorSession) => {
    sent.push(to);
    return "answer";
  };
  const waiting = requests.send({ options: {}, send, lost: "UNAVAILABLE" });
  requests.resume(session);
  requests.pause();
  await settle();
  expect(sent).toEqual([]);
  requests.resume(session);
  expect(await waiting).toBe("answer");
  expect(sent).toEqual([session]);
});

test("a request that waited in vain, or was aborted, leaves nothing behind", async () => {
  const clock = virtualClock();
  const requests = makeRequests(clock);
  const send = () => expect.unreachable("it is not connected");
  const late = requests.send({ options: {}, send, lost: "UNAVAILABLE" });
  const abort = new AbortController();
  const aborted = requests.send({ options: { signal: abort.signal }, send, lost: "UNAVAILABLE" });
  abort.abort(new Error("enough"));
  await expect(aborted).rejects.toThrow("enough");
  const failed = expect(late).rejects.toMatchObject({ code: "UNAVAILABLE", message: "still connecting" });
  await clock.advance(60_000);
  await failed;
  expect([clock.timers, clock.keptAlive]).toEqual([0, 0]);
  requests.stop(new Error("removed"));
  await expect(requests.send({ options: {}, send, lost: "UNAVAILABLE" })).rejects.toThrow("removed");
  expect([clock.timers, clock.keptAlive]).toEqual([0, 0]);
});
