import { expect } from "vitest";
import { verifies } from "../support/verifies.ts";
import { runIsolation } from "./fixture/isolation.ts";

verifies(
  ["V3", "M10"],
  "of 100 principals who make 100,000 calls of three servers at once none gets what is another's",
  async () => {
    const report = await runIsolation({ principals: 100, calls: 100_000, seed: 15_000, atOnce: 5 });
    expect(report.across).toEqual([]);
    expect(report.answers).toBe(100_000);
    expect(report.failures.length, report.failures[0]).toBeLessThan(1_000);
    expect(report.questions.answered).toBeGreaterThan(1_000);
  },
  1_200_000,
);
