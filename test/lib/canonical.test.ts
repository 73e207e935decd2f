import fc from "fast-check";
import { expect, test } from "vitest";
import { canonicalJson, digest } from "../../src/lib/canonical.ts";
import { pointerTo, resolvePointer } from "../../src/lib/pointer.ts";
import { nearest } from "../../src/lib/similar.ts";

/** The same value with the keys of every object in another order. */
function shuffled(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(shuffled);
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, shuffled(member)]),
  );
}

test("canonical JSON does not depend on the order of keys, and loses nothing", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
      expect(digest(shuffled(value))).toBe(digest(value));
    }),
  );
  expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"z":1,"a":2}}'))).toBe('{"__proto__":{"a":2,"z":1},"b":1}');
  expect(canonicalJson(undefined)).toBe("null");
});

test("a JSON pointer finds what it was made for", () => {
  fc.assert(
    fc.property(fc.array(fc.string(), { maxLength: 5 }), fc.jsonValue(), (steps, leaf) => {
      const document = steps.reduceRight<unknown>((value, step) => ({ x: 0, [step]: value }), leaf);
      expect(resolvePointer(document, steps.reduce(pointerTo, ""))).toEqual(leaf);
    }),
  );
  expect(resolvePointer({}, "/constructor")).toBeUndefined();
});

test("near words are found, far ones are not, and a long word costs nothing", () => {
  const names = ["weather.forecast", "weather.history", "builtin.greet", "github.create_issue"];
  expect(nearest("weather.forcast", names, 3)).toEqual(["weather.forecast"]);
  expect(nearest("gret", names, 3)).toEqual(["builtin.greet"]);
  expect(nearest("issue", names, 3)).toEqual(["github.create_issue"]);
  expect(nearest("zzzzzz", names, 3)).toEqual([]);
  expect(nearest("weather", names, 1)).toHaveLength(1);
  expect(nearest("a".repeat(100_000), ["a".repeat(100_000)], 3)).toEqual([]);
});
