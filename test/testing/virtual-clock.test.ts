import { expect, test } from "vitest";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

test("a virtual clock stands still until it is told, and fires timers in their order, at their time", async () => {
  const clock = virtualClock(100);
  const fired: string[] = [];
  clock.setTimer(() => fired.push(`late ${clock.now()}`), 50);
  clock.setTimer(() => {
    fired.push(`early ${clock.now()}`);
    clock.setTimer(() => fired.push(`set on the way ${clock.now()}`), 5);
  }, 10);
  clock.setTimer(() => fired.push("never"), Number.POSITIVE_INFINITY);
  clock.setTimer(() => fired.push("cancelled"), 1).cancel();
  expect([clock.now(), clock.timers, clock.nextInMs]).toEqual([100, 3, 10]);
  await clock.advance(50);
  expect(fired).toEqual(["early 110", "set on the way 115", "late 150"]);
  expect([clock.now(), clock.timers, clock.keptAlive]).toEqual([150, 1, 0]);
});

test("time in which nothing runs makes timers late", async () => {
  const clock = virtualClock(0);
  const fired: number[] = [];
  clock.setTimer(() => fired.push(clock.now()), 10);
  clock.stall(100);
  expect(fired).toEqual([]);
  await clock.advance(0);
  expect(fired).toEqual([100]);
});
