import { expect, test } from "vitest";
import type { RemoteGeneration, Watcher } from "../../src/connection/generation.ts";
import { InFlightRequests } from "../../src/connection/in-flight-requests.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

test("a request that is over, however it ended, is held by nothing", async () => {
  const watching = new Set<Watcher>();
  const generation = {
    session: {},
    watch: (watcher: Watcher) => void watching.add(watcher),
    forget: (watcher: Watcher) => void watching.delete(watcher),
  } as unknown as RemoteGeneration;
  const requests = new InFlightRequests(virtualClock(), () => "weather", 1_000);
  const failing = new Error("failed");
  const sends: (() => Promise<string>)[] = [
    async () => "answer",
    () => Promise.reject(failing),
    () => {
      throw failing;
    },
  ];
  const made = sends.map((send) => requests.make(generation, { options: {}, send, lost: "UNAVAILABLE" }));
  expect([requests.size, watching.size]).toEqual([2, 2]);
  const results = await Promise.allSettled(made);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "rejected"]);
  expect([requests.size, watching.size]).toEqual([0, 0]);
  const hanging = requests.make(generation, {
    options: {},
    send: () => new Promise(() => undefined),
    lost: "OUTCOME_UNKNOWN",
  });
  for (const watcher of watching) watcher.cut(undefined);
  await expect(hanging).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN", details: { namespace: "weather" } });
  expect([requests.size, watching.size]).toEqual([0, 0]);
});
