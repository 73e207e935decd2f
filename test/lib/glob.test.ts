import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { glob } from "../../src/lib/glob.ts";

describe("a glob", () => {
  test.each([
    ["weather.*", "weather.forecast", true],
    ["weather.*", "weather", false],
    ["*", "", true],
    ["*.delete*", "files.delete_all", true],
    ["*.delete", "files.delete_all", false],
    ["a?c", "abc", true],
    ["a?c", "ac", false],
    ["a.c", "abc", false],
    ["a+(b)", "a+(b)", true],
    ["", "", true],
    ["", "a", false],
    ["?", "😀", true],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "a-c-b", false],
  ])("%j on %j: %s", (pattern, text, fits) => {
    expect(glob(pattern)(text)).toBe(fits);
  });

  test("agrees with the regular expression it stands for", () => {
    const alphabet = fc.constantFrom("a", "b", ".", "*", "?");
    const pattern = fc.array(alphabet, { maxLength: 8 }).map((pieces) => pieces.join(""));
    const text = fc.array(fc.constantFrom("a", "b", "."), { maxLength: 10 }).map((pieces) => pieces.join(""));
    fc.assert(
      fc.property(pattern, text, (given, candidate) => {
        const source = given.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll("?", ".");
        expect(glob(given)(candidate)).toBe(new RegExp(`^${source}$`).test(candidate));
      }),
    );
  });

  test("takes no time worth naming for a pattern that would lead a regular expression astray", () => {
    expect(glob(`${"a*".repeat(40)}b`)("a".repeat(2_000))).toBe(false);
  });
});
