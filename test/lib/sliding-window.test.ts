import fc from "fast-check";
import { expect, test } from "vitest";
import { SlidingWindow } from "../../src/lib/sliding-window.ts";

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
