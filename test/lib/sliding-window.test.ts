import fc from "fast-check";
import { expect, test } from "vitest";
import { OwnedWindows, SlidingWindow } from "../../src/lib/sliding-window.ts";

test("in any window there are at most so many, and the wait for the next is as long as it says", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 100 }),
      (max, windowMs, gaps) => {
        const window = new SlidingWindow(max, windowMs);
        const spent: number[] = [];
        let now = 1_000;
        for (const gap of gaps) {
          now += gap;
          const waitMs = window.waitMs(now);
          const within = spent.filter((time) => time > now - windowMs);
          expect(waitMs === 0).toBe(within.length < max);
          if (waitMs > 0) {
            expect(waitMs).toBe((within[0] ?? 0) + windowMs - now);
            continue;
          }
          window.spend(now);
          spent.push(now);
        }
      },
    ),
  );
});

test("each owner has a window of its own, and owners who have gone are forgotten", () => {
  const windows = new OwnedWindows(2, 1_000);
  for (let owner = 0; owner < 100_000; owner += 1) {
    windows.spend(`owner ${owner}`, owner);
    windows.spend(`owner ${owner}`, owner);
    expect(windows.waitMs(`owner ${owner}`, owner)).toBe(1_000);
  }
  expect(windows.waitMs("owner 99999", 100_500)).toBe(499);
  expect(windows.waitMs("somebody else", 100_500)).toBe(0);
  expect(windows.size).toBeLessThan(5_000);
});
