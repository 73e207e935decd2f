import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { expect, test, vi } from "vitest";
import type { Deadline, DeadlineOwner, TimeLimits } from "../../src/lib/deadline.ts";
import { DeadlineScheduler } from "../../src/lib/deadline-scheduler.ts";
import { settle, virtualClock } from "../../src/testing/virtual-clock.ts";
import { verifies } from "../support/verifies.ts";

const unlimited: TimeLimits = { inactivityMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY };

function waiter(fields: Partial<DeadlineOwner> = {}) {
  const told: unknown[] = [];
  let touch = () => {};
  const made: DeadlineOwner = {
    callerSignal: undefined,
    onDeadline: (wait) => {
      touch = () => wait.keepAlive();
    },
    limitError: (_limits, limit, elapsedMs) => new Error(`${limit} ${elapsedMs}`),
    abort: (reason) => told.push(reason),
    ...fields,
  };
  return { waiter: made, told, touch: () => touch() };
}

const never = new Promise<never>(() => {});
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

verifies(
  "C7",
  "a wait ends at its limit, and a sign of life moves the inactivity limit and not the total",
  async () => {
    const clock = virtualClock();
    const room = new DeadlineScheduler(clock);
    const { waiter: one, told, touch } = waiter();
    const result = room.wait(never, one, { inactivityMs: 100, totalMs: 250 });
    const outcome = result.catch((error: Error) => error.message);
    for (let n = 0; n < 3; n++) {
      await clock.advance(80);
      touch();
      expect(told).toEqual([]);
    }
    await clock.advance(10);
    expect(await outcome).toBe("total 250");
    expect(told).toEqual([new Error("total 250")]);
    expect(room.size).toBe(0);
  },
);

test("all share one timer, which keeps the process alive only while somebody waits", async () => {
  const clock = virtualClock();
  const room = new DeadlineScheduler(clock);
  const first = Promise.withResolvers<number>();
  const second = Promise.withResolvers<number>();
  const a = room.wait(first.promise, waiter().waiter, { inactivityMs: 1000, totalMs: 5000 });
  const b = room.wait(second.promise, waiter().waiter, { inactivityMs: 500, totalMs: 5000 });
  // Whatever came in this turn begins together when it ends.
  expect([clock.timers, clock.keptAlive]).toEqual([1, 1]);
  await clock.advance(0);
  expect([clock.timers, clock.nextInMs, clock.keptAlive]).toEqual([1, 500, 1]);
  first.resolve(1);
  second.resolve(2);
  expect(await Promise.all([a, b])).toEqual([1, 2]);
  expect([clock.timers, clock.keptAlive]).toEqual([1, 0]);
  const again = room.wait(never, waiter().waiter, { inactivityMs: 1000, totalMs: 5000 });
  expect(clock.keptAlive).toBe(1);
  const failed = again.catch((error: Error) => error.message);
  await clock.advance(1000);
  await settle();
  expect(await failed).toBe("inactivity 1000");
  expect([clock.timers, clock.keptAlive]).toEqual([0, 0]);
});

test("limits begin at once where the owner is followed, and no timer is set for that", async () => {
  const clock = virtualClock();
  const setTimer = vi.spyOn(clock, "setTimer");
  const room = new DeadlineScheduler(clock);
  const limits = { inactivityMs: 1000, totalMs: 5000 };
  for (let call = 0; call < 3; call += 1) {
    const answer = Promise.withResolvers<number>();
    const result = room.wait(answer.promise, waiter({ isFollowed: true }).waiter, limits);
    expect([clock.timers, clock.nextInMs, clock.keptAlive]).toEqual([1, 1000 - call * 10, 1]);
    answer.resolve(call);
    expect(await result).toBe(call);
    expect(clock.keptAlive).toBe(0);
    await clock.advance(10);
  }
  expect(setTimer).toHaveBeenCalledTimes(1);
  // Others of the turn begin with it.
  const endedAt: number[] = [];
  const note = () => endedAt.push(clock.now());
  const begunAt = clock.now();
  room.wait(never, waiter().waiter, limits).catch(note);
  room.wait(never, waiter({ isFollowed: true }).waiter, limits).catch(note);
  await clock.advance(2000);
  expect(endedAt).toEqual([begunAt + 1000, begunAt + 1000]);
  expect([clock.timers, clock.keptAlive]).toEqual([0, 0]);
});

test("what is over in the turn in which it began reads no clock", async () => {
  const clock = virtualClock();
  const read = vi.spyOn(clock, "now");
  const room = new DeadlineScheduler(clock);
  for (let n = 0; n < 3; n++)
    await room.wait(Promise.resolve(n), waiter().waiter, { inactivityMs: 1000, totalMs: 5000 });
  expect([read.mock.calls.length, clock.timers]).toEqual([0, 1]);
});

test("without a limit there is no timer", () => {
  const clock = virtualClock();
  void new DeadlineScheduler(clock).wait(never, waiter().waiter, unlimited);
  expect(clock.timers).toBe(0);
});

verifies(
  "C6",
  "either signal ends the wait with its own reason, before whoever hears the abort can answer",
  async () => {
    for (const which of ["callerSignal", "outerSignals"] as const) {
      const controller = new AbortController();
      const { signal } = controller;
      const fields: Partial<DeadlineOwner> =
        which === "callerSignal" ? { callerSignal: signal } : { outerSignals: [signal] };
      const room = new DeadlineScheduler(virtualClock());
      const { promise, reject } = Promise.withResolvers<never>();
      const one = waiter({ ...fields, abort: () => reject(new Error("the tool's own")) });
      const result = room.wait(promise, one.waiter, unlimited);
      controller.abort("why");
      await expect(result).rejects.toBe("why");
      expect(room.size).toBe(0);
    }
  },
);

test("a signal ends each of its waits, whichever listeners it has beside the scheduler, before, during and after the abort", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  // Node passes one event to all listeners of a signal, and has reset a part of it after the first.
  signal.addEventListener("abort", () => {});
  const [one, other] = [new DeadlineScheduler(virtualClock()), new DeadlineScheduler(virtualClock())];
  const caller = waiter({ callerSignal: signal });
  const outer = waiter({ outerSignals: [new AbortController().signal, signal] });
  const both = waiter({ callerSignal: signal, outerSignals: [signal] });
  const waits = [caller, outer, both].flatMap(({ waiter: each }) =>
    [one, other].map((scheduler) => scheduler.wait(never, each, unlimited)),
  );
  const unrelated = waiter({ callerSignal: new AbortController().signal });
  void one.wait(never, unrelated.waiter, unlimited);
  signal.addEventListener("abort", () => {});
  const outcomes = Promise.allSettled(waits);
  controller.abort("why");
  controller.abort("again");
  for (const outcome of await outcomes) expect(outcome).toEqual({ status: "rejected", reason: "why" });
  for (const { told } of [caller, outer, both]) expect(told).toEqual(["why", "why"]);
  await expect(one.wait(never, waiter({ callerSignal: signal }).waiter, unlimited)).rejects.toBe("why");
  expect([unrelated.told, one.size, other.size]).toEqual([[], 1, 0]);
});

test("a signal is listened to from the end of the turn on, or at once where its owner passes an abort on", async () => {
  const room = new DeadlineScheduler(virtualClock());
  const { signal } = new AbortController();
  const listen = vi.spyOn(signal, "addEventListener");
  for (let n = 0; n < 3; n++) await room.wait(Promise.resolve(n), waiter({ callerSignal: signal }).waiter, unlimited);
  await nextTurn();
  expect(listen.mock.calls.length).toBe(0);
  const lasting = [1, 2].map(() => room.wait(never, waiter({ callerSignal: signal }).waiter, unlimited));
  expect(listen.mock.calls.length).toBe(0);
  await nextTurn();
  expect([lasting.length, listen.mock.calls.length]).toEqual([2, 1]);
  const other = new AbortController().signal;
  const listenToOther = vi.spyOn(other, "addEventListener");
  void room.wait(never, waiter({ outerSignals: [other], isFollowed: true }).waiter, unlimited);
  expect(listenToOther.mock.calls.length).toBe(1);
  const third = new AbortController();
  let wait: Deadline | undefined;
  const late = waiter({
    callerSignal: third.signal,
    onDeadline: (begun) => {
      wait = begun;
    },
  });
  const result = room.wait(never, late.waiter, unlimited);
  wait?.follow();
  third.abort("why");
  expect(late.told).toEqual(["why"]);
  await expect(result).rejects.toBe("why");
});

test("an abort in the turn in which a wait began is its reason, whatever its promise settles to", async () => {
  for (const which of ["callerSignal", "outerSignals"] as const) {
    const room = new DeadlineScheduler(virtualClock());
    const controller = new AbortController();
    const { signal } = controller;
    const fields = which === "callerSignal" ? { callerSignal: signal } : { outerSignals: [signal] };
    const begin = (promise: Promise<unknown>) => {
      const one = waiter(fields);
      return { told: one.told, result: room.wait(promise, one.waiter, unlimited) };
    };
    const waits = [Promise.resolve(1), Promise.reject(new Error("its own")), never].map(begin);
    const outcomes = Promise.allSettled(waits.map(({ result }) => result));
    controller.abort("why");
    for (const outcome of await outcomes) expect(outcome).toEqual({ status: "rejected", reason: "why" });
    expect([waits.map(({ told }) => told), room.size]).toEqual([[["why"], ["why"], ["why"]], 0]);
  }
});

test("a signal that has aborted ends the wait at once, and a settled wait hears no abort", async () => {
  const room = new DeadlineScheduler(virtualClock());
  await expect(room.wait(never, waiter({ callerSignal: AbortSignal.abort("before") }).waiter, unlimited)).rejects.toBe(
    "before",
  );
  const controller = new AbortController();
  const { waiter: one, told } = waiter({ callerSignal: controller.signal });
  await room.wait(Promise.resolve(1), one, unlimited);
  controller.abort("late");
  await settle();
  expect(told).toEqual([]);
});

test("cutAll ends every wait, and later ones wait anew", async () => {
  const room = new DeadlineScheduler(virtualClock());
  const waiters = [1, 2, 3].map(() => waiter().waiter);
  const results = waiters.map((each) => room.wait(never, each, unlimited));
  room.abortAll((each) => (waiters.includes(each as never) ? "closed" : "unknown"));
  for (const result of results) await expect(result).rejects.toBe("closed");
  await expect(room.wait(Promise.resolve(4), waiter().waiter, unlimited)).resolves.toBe(4);
});

test("any mix of limits ends each wait at the time it must", async () => {
  const limits = fc.array(
    fc.record({ inactivityMs: fc.integer({ min: 1, max: 90 }), totalMs: fc.integer({ min: 1, max: 90 }) }),
    {
      minLength: 1,
      maxLength: 12,
    },
  );
  await fc.assert(
    fc.asyncProperty(limits, async (all) => {
      const clock = virtualClock();
      const room = new DeadlineScheduler(clock);
      const ended = new Map<number, number>();
      for (const [index, limit] of all.entries()) {
        room.wait(never, waiter().waiter, limit).catch(() => ended.set(index, clock.now() - 1_000_000));
      }
      for (let n = 0; n < 100; n++) await clock.advance(1);
      expect(all.map((_, index) => ended.get(index))).toEqual(
        all.map(({ inactivityMs, totalMs }) => Math.min(inactivityMs, totalMs)),
      );
      expect([room.size, clock.timers]).toEqual([0, 0]);
    }),
    { numRuns: 15 },
  );
});

test("a wait may be ended by whoever was told of it, once", async () => {
  const room = new DeadlineScheduler(virtualClock());
  let wait: Deadline | undefined;
  const { waiter: one, told } = waiter({
    onDeadline: (begun) => {
      wait = begun;
    },
  });
  const result = room.wait(never, one, unlimited);
  wait?.end("why");
  wait?.end("again");
  await expect(result).rejects.toBe("why");
  expect([told, room.size]).toEqual([["why"], 0]);
});

test("a signal that lives on keeps no room that heard it", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { signal } = new AbortController();
  const useRoom = async () => {
    const room = new DeadlineScheduler(virtualClock());
    await room.wait(Promise.resolve("done"), waiter({ callerSignal: signal }).waiter, unlimited);
    return new WeakRef(room);
  };
  const room = await useRoom();
  await settle();
  collect();
  expect(room.deref()).toBeUndefined();
});

test("a joined signal is not kept by its listener, and each signal with a wait still ends that", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const sources = [new AbortController().signal, new AbortController().signal];
  const room = new DeadlineScheduler(virtualClock());
  const controllers = Array.from({ length: 200 }, () => new AbortController());
  const waiting = controllers.map(({ signal }) =>
    room.wait(never, waiter({ outerSignals: [signal] }).waiter, unlimited),
  );
  const outcomes = Promise.allSettled(waiting);
  const joined: WeakRef<AbortSignal>[] = [];
  const useJoined = async () => {
    const signal = AbortSignal.any(sources);
    joined.push(new WeakRef(signal));
    // A wait that is over in the turn in which it began listens to nothing.
    await room.wait(new Promise(setImmediate).then(nextTurn), waiter({ callerSignal: signal }).waiter, unlimited);
  };
  for (let n = 0; n < 1_000; n++) await useJoined();
  for (const [at, controller] of controllers.entries()) controller.abort(at);
  expect((await outcomes).map((outcome) => outcome.status === "rejected" && outcome.reason)).toEqual([
    ...controllers.keys(),
  ]);
  await new Promise(setImmediate);
  collect();
  expect(joined.filter((signal) => signal.deref() !== undefined).length).toBeLessThan(500);
});
