import { describe, expect, test } from "vitest";
import { RetryBudget } from "../../src/lib/retry-budget.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";

const drain = (budget: RetryBudget): number => {
  let taken = 0;
  while (taken < 10_000 && budget.withdraw()) taken += 1;
  return taken;
};
const call = (budget: RetryBudget, times: number) => {
  for (let time = 0; time < times; time += 1) budget.deposit();
};

describe("a budget for retries", () => {
  test("has a reserve for those who call seldom, which comes back in time", async () => {
    const clock = virtualClock();
    const budget = new RetryBudget(clock);
    expect(drain(budget)).toBe(10);
    await clock.advance(3_000);
    expect(drain(budget)).toBe(3);
    await clock.advance(3_600_000);
    expect(drain(budget)).toBe(10);
  });

  test("gets a tenth of a retry for each call", () => {
    const budget = new RetryBudget(virtualClock());
    drain(budget);
    call(budget, 9);
    expect(drain(budget)).toBe(0);
    call(budget, 1);
    expect(drain(budget)).toBe(1);
    call(budget, 500);
    expect(drain(budget)).toBe(50);
  });

  test("saves up no more than a hundred, and time adds nothing to more than the reserve", async () => {
    const clock = virtualClock();
    const budget = new RetryBudget(clock);
    call(budget, 100_000);
    await clock.advance(60_000);
    expect(drain(budget)).toBe(100);
  });
});
