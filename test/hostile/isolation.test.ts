import { expect } from "vitest";
import { runIsolation } from "../server/fixture/isolation.ts";
import { verifies } from "../support/verifies.ts";

verifies(
  ["V3", "M10"],
  "of 100 principals who make 10,000 calls of three servers at once none gets what is another's",
  async () => {
    const report = await runIsolation({ principals: 100, calls: 10_000, seed: 1_500, atOnce: 4 });
    expect(report.across).toEqual([]);
    expect(report.answers).toBe(10_000);
    // Questions and progress were among them. Log messages are not: a server does not say for which of several principals they are.
    expect(report.failures.length, report.failures[0]).toBeLessThan(100);
    expect(report.questions.answered).toBeGreaterThan(100);
    expect(report.progress).toBeGreaterThan(500);
  },
  240_000,
);
