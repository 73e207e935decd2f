import fc from "fast-check";
import { expect, test } from "vitest";
import { backoffDelay } from "../../src/lib/backoff.ts";

test("the wait is a part of a bound that doubles, and never goes beyond its most", () => {
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(fc.integer({ min: -5, max: 5_000 }), chance, (failures, part) => {
      const delay = backoffDelay(failures, { baseMs: 2_000, maxMs: 1_200_000, random: () => part });
      if (failures <= 0) expect(delay).toBe(0);
      else expect(delay).toBe(part * Math.min(1_200_000, 2_000 * 2 ** (failures - 1)));
    }),
  );
});
