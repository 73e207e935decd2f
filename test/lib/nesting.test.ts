import { expect } from "vitest";
import { isNestedDeeper } from "../../src/lib/nesting.ts";
import { verifies } from "../support/verifies.ts";

verifies("M12", "levels of objects and lists are counted, whatever is beside them", () => {
  const depths: readonly (readonly [value: unknown, depth: number])[] = [
    ["text", 0],
    [null, 0],
    [{}, 1],
    [[], 1],
    [{ a: 1, b: [] }, 2],
    [[1, "two", [{ a: {} }], null], 4],
  ];
  for (const [value, depth] of depths) {
    expect(isNestedDeeper(value, depth)).toBe(false);
    if (depth > 0) expect(isNestedDeeper(value, depth - 1)).toBe(true);
  }
});

verifies("M12", "what has a million levels, or contains itself, ends no stack", () => {
  const deep: unknown = JSON.parse(`${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`);
  expect(isNestedDeeper(deep, 1_000)).toBe(true);
  const round: Record<string, unknown> = {};
  round.self = round;
  expect(isNestedDeeper(round, 1_000)).toBe(true);
});
