import * as fc from "fast-check";
import { expect, test } from "vitest";
import { excerpt } from "../../src/lib/excerpt.ts";

const isSecret = (key: string) => key === "secret";
const show = (value: unknown, maxLength = 8_192) => excerpt(value, { isSecret, maxLength });

test.each([
  ["a list", [1, "a", null, true], '[1,"a",null,true]'],
  ["a secret, whatever it is", { secret: { deep: [1] } }, '{"secret":"***"}'],
  ["that there is no secret", { secret: "" }, '{"secret":""}'],
  ["a text that is JSON", '{"secret":"x","a":1}', '"{\\"secret\\":\\"***\\",\\"a\\":1}"'],
  ["a text that only looks like JSON", "{secret}", '"{secret}"'],
  ["bytes", new Uint8Array(3), '"(3 bytes)"'],
  ["a date", new Date(0), '"1970-01-01T00:00:00.000Z"'],
  ["a large number", 10n, '"10"'],
  ["nothing", undefined, "null"],
  ["a text that is too long", "x".repeat(20), '"xxxxxxxxxx..."', 10],
  ["a list that is too long", ["aaaa", "bbbb", "cccc"], '["aaaa","..."]', 7],
] as const)("%s is shown", (_what, value, shown, maxLength?: number) => {
  expect(show(value, maxLength)).toBe(shown);
});

test("what cannot be shown is said so, and what goes round in a circle is cut", () => {
  const circle: Record<string, unknown> = {};
  circle.again = circle;
  const odd = {
    get a() {
      throw new Error("no");
    },
  };
  expect(show(odd)).toBe('"(cannot be shown)"');
  expect(show(circle)).toMatch(/^(\{"again":)+"\.\.\."\}+$/);
});

test("any JSON is shown as JSON of bounded length, without what is secret", () => {
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ depthSize: "medium" }, fc.jsonValue(), tie("secret"), fc.array(tie("any"))),
    secret: fc.record({
      secret: fc.constant("hunter22"),
      other: tie("any"),
      text: fc.constant('[{"secret":"hunter22"}]'),
    }),
  })).any;
  fc.assert(
    fc.property(value, (given) => {
      const shown = show(given, 200);
      JSON.parse(shown);
      expect(shown).not.toContain("hunter22");
      expect(shown.length).toBeLessThan(200 * 8 + 200);
    }),
  );
});
