import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepProcessAlive, systemClock } from "../../src/lib/clock.ts";

const day = 24 * 60 * 60 * 1000;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("a timer longer than Node's timers take fires at its time, and not before", () => {
  const fired = vi.fn();
  systemClock.setTimer(fired, 60 * day);
  vi.advanceTimersByTime(60 * day - 1);
  expect(fired).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  expect(fired).toHaveBeenCalledTimes(1);
  expect(vi.getTimerCount()).toBe(0);
});

test("a timer is cancelled and keeps the process alive, or not, however often it was set again", () => {
  const set = vi.spyOn(globalThis, "setTimeout");
  const last = () => set.mock.results.at(-1)?.value as NodeJS.Timeout;
  const timer = systemClock.setTimer(() => undefined, 60 * day);
  expect(last().hasRef()).toBe(false);
  timer.keepAlive(true);
  expect(last().hasRef()).toBe(true);
  vi.advanceTimersByTime(30 * day);
  expect([set.mock.calls.length, last().hasRef()]).toEqual([2, true]);
  timer.cancel();
  expect(vi.getTimerCount()).toBe(0);
});

test("the process is kept alive for as long as it is asked, beyond every limit of a timer", () => {
  const release = keepProcessAlive(systemClock);
  vi.advanceTimersByTime(365 * day);
  expect(vi.getTimerCount()).toBe(1);
  release();
  expect(vi.getTimerCount()).toBe(0);
});
