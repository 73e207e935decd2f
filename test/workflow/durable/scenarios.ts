import { expect } from "vitest";
import { type Service, type Services, type SharedPlace, services } from "../../agent/durable/support.ts";

/** Processes that run workflows, and share a store. @param place - default: a SQLite file */
export function workers(place?: SharedPlace): Promise<Services> {
  return services(place, new URL("service.ts", import.meta.url));
}

/** Long enough for a lease to be over and for another process to see that, on a busy machine. */
const patience = { timeout: 30_000, interval: 100 };

/** Resolves when the latest run has come to this. */
export async function comesTo(service: Service, status: RegExp): Promise<void> {
  await expect.poll(() => service.do("runs"), patience).toMatch(status);
}

/**
 * A run with a failing step and its fallback, an approval in the middle, and three processes of which two are killed: one while it waits, one
 * while it does what is not safe to repeat.
 */
export async function orderAcrossProcesses(processes: Services): Promise<void> {
  const first = await processes.start();
  const caller = await first.do("run order");
  expect(caller).toMatch(/^[\da-f-]{36}$/);
  await first.kill();
  expect(await processes.journal()).toEqual(["collect", "broken", "plain"]);

  const second = await processes.start("ship");
  await comesTo(second, /order waiting/);
  expect(await second.do(`approve ${await second.do("pending")}`)).toBe("succeeded");
  await processes.ran("ship");
  await second.kill();

  const third = await processes.start();
  const result = JSON.parse(await third.do(`wait ${caller}`));
  expect(result).toEqual({ stock: "plain done", payment: "pay done", shipped: "ask done", end: "report done" });
  await comesTo(third, /order succeeded/);
  const done = ["collect", "broken", "plain", "pay", "look", "ship", "ask", "report"];
  expect(await processes.journal()).toEqual(done);
  expect(JSON.parse(await third.do("steps"))).toMatchObject({
    stock: { state: "failed" },
    plain: { state: "succeeded" },
    shipped: { state: "failed", error: { code: "OUTCOME_UNKNOWN" } },
  });
}

/** A step that was begun and is not safe to repeat is not begun again: without a fallback the run has failed. */
export async function unsafeStep(processes: Services): Promise<void> {
  const killed = await processes.start("ship");
  void killed.do("run strict").catch(() => undefined);
  await processes.ran("ship");
  await killed.kill();
  const other = await processes.start();
  await comesTo(other, /strict failed/);
  expect(await other.do("outcome")).toContain("OUTCOME_UNKNOWN");
  expect(await processes.journal()).toEqual(["ship"]);
}

/** A safe step is done again, by one of the processes that find it. */
export async function safeStep(processes: Services): Promise<void> {
  const killed = await processes.start("look");
  await killed.do("run order");
  await killed.do(`approve ${await killed.do("pending")}`);
  await processes.ran("look");
  const others = await Promise.all([processes.start(), processes.start()]);
  await killed.kill();
  for (const other of others) await comesTo(other, /order succeeded/);
  const done = ["collect", "broken", "plain", "pay", "look", "look", "ship", "report"];
  expect(await processes.journal()).toEqual(done);
}

/**
 * A run whose record has pieces, of which two processes are killed in the middle: each element is done once at most, all but those that
 * were at work then, and no piece is left.
 */
export async function manyElements(processes: Services): Promise<void> {
  const list = Array.from({ length: 1_500 }, (_, n) => n);
  const first = await processes.start();
  void first.do(`run many ${JSON.stringify(list)}`).catch(() => undefined);
  const killedAfter = async (service: Service, done: number) => {
    await expect.poll(async () => (await processes.journal()).length, patience).toBeGreaterThan(done);
    expect(Number(await service.do("pieces"))).toBeGreaterThan(1);
    await service.kill();
  };
  await killedAfter(first, 500);
  const second = await processes.start();
  await killedAfter(second, 1_000);
  const third = await processes.start();
  await comesTo(third, /many succeeded/);
  const done = await processes.journal();
  expect(new Set(done).size).toBe(done.length);
  const states = Object.values<{ state: string; error?: { code: string } }>(JSON.parse(await third.do("steps")));
  expect(states).toHaveLength(1_500);
  const unknown = states.filter(({ state }) => state === "failed");
  expect(unknown.every(({ error }) => error?.code === "OUTCOME_UNKNOWN")).toBe(true);
  expect(unknown.length).toBeLessThanOrEqual(2 * 8);
  expect(done.length).toBeGreaterThanOrEqual(1_500 - unknown.length);
  await expect.poll(() => third.do("pieces"), patience).toBe("0");
}
