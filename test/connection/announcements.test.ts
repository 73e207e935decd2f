import { expect, test } from "vitest";
import { RateWindow } from "../../src/connection/announcements.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

test("so many are admitted in a window; its end is reported where something was held back, and not else", async () => {
  const clock = virtualClock();
  let ends = 0;
  const window = new RateWindow({ clock, windowMs: 1_000, max: 2, over: () => void ends++ });
  const admit = (count: number) => Array.from({ length: count }, () => window.admit());
  expect(admit(2)).toEqual([true, true]);
  await clock.advance(1_000);
  expect([ends, clock.timers]).toEqual([0, 0]);
  expect(admit(4)).toEqual([true, true, false, false]);
  await clock.advance(999);
  expect([admit(1), ends]).toEqual([[false], 0]);
  await clock.advance(1);
  expect([ends, clock.timers, admit(1)]).toEqual([1, 0, [true]]);
  admit(5);
  window.stop();
  await clock.advance(5_000);
  expect([ends, clock.timers]).toEqual([1, 0]);
});
