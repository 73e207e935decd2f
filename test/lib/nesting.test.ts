import { expect } from "vitest";
import { jsonFault, parseJson } from "../../src/lib/nesting.ts";
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
    expect(jsonFault(value, depth)).toBeUndefined();
    if (depth > 0) expect(jsonFault(value, depth - 1)).toBe("depth");
  }
});

verifies("M12", "what has a million levels, or contains itself, ends no stack", () => {
  const deep: unknown = JSON.parse(`${"[".repeat(1_000_000)}${"]".repeat(1_000_000)}`);
  expect(jsonFault(deep, 1_000)).toBe("depth");
  const round: Record<string, unknown> = {};
  round.self = round;
  expect(jsonFault(round, 1_000)).toBe("depth");
});

verifies("M12", "a number that none can hold is found wherever it stands, and no other is taken for one", () => {
  for (const text of ["1e400", "-1E+309", "[1, 1e999]", '{"a": {"b": [1e400]}}', `[${"9".repeat(400)}]`]) {
    expect(jsonFault(JSON.parse(text), 10), text).toBe("number");
    expect(() => parseJson(text), text).toThrow("beyond 1.8e308");
  }
  for (const text of ["1e308", "1e-400", '"1e400"', `"${"9".repeat(400)}"`, '{"1e400": 12e3}', "-0"]) {
    expect(jsonFault(JSON.parse(text), 10), text).toBeUndefined();
    expect(parseJson(text), text).toEqual(JSON.parse(text));
  }
});
