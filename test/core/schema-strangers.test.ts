import { expect, test } from "vitest";
import type { JsonSchema } from "../../src/core/schema/types.ts";
import { validatorOf } from "../../src/core/schema/validator.ts";
import { Violation } from "../../src/core/schema/violation.ts";
import { verifies } from "../support/verifies.ts";

const fits = async (schema: JsonSchema, value: unknown, trusted = false) =>
  !((await validatorOf(schema, { trusted })(value)) instanceof Violation);
const pattern = (source: string) => ({ type: "string", pattern: source });

verifies(["I2", "M12"], "no pattern of a stranger takes longer than the text is long", async () => {
  const slow = `${"a".repeat(32)}!`;
  const started = performance.now();
  expect(await fits(pattern("^(a+)+$"), slow)).toBe(false);
  expect(await fits({ patternProperties: { "^(a+)+$": false } }, { [slow]: 1 })).toBe(true);
  expect(await fits(pattern("^(?!(a+)+$)(?=(a|a)*!)"), slow)).toBe(true);
  expect(await fits({ type: "string", format: "url" }, `http://${":".repeat(100_000)}`)).toBe(false);
  expect(performance.now() - started).toBeLessThan(2_000);
});

const texts = [
  "",
  "a",
  "A1",
  "Ab1.",
  "a b",
  "a\u00a0b",
  "a\nb",
  "a\rb",
  "é",
  "😀",
  "[",
  "a]",
  "^",
  "-",
  "\b",
  "x@y.ch",
  "aa",
];
const patterns = [
  "^a.b$",
  "^\\S+$",
  "[^\\s]",
  "[\\S]",
  "^[^]$",
  "[]",
  "^\\u0041",
  "^\\u{1F600}$",
  "^\\ud83d\\ude00$",
  "\\x41",
  "[\\b]",
  "^[[a]$",
  "^[\\^-]$",
  "^(?<n>a)b?$",
  "\\bb",
  "^\\p{L}$",
  "^\\p{Script=Latin}",
  "^(?=.*[A-Z])(?=.*\\d).{2,}$",
  "^(?!\\.)(?!.*\\.\\.)[\\w.]+@[a-z.]+$",
  "\\/|\\-",
  "^.$",
];

for (const source of patterns) {
  verifies("I2", `a pattern of a stranger means what it means: ${source}`, async () => {
    for (const text of texts)
      expect([text, await fits(pattern(source), text)]).toEqual([text, await fits(pattern(source), text, true)]);
  });
}

for (const source of ["(a)\\1", "a(?=b)", "(?<=a)b", "^.{1,2000}$", "\\Aa", `${"(a?){900}".repeat(99)}`]) {
  verifies(
    "I3",
    `a pattern that takes more than linear time, or too much, is not compiled: ${source.slice(0, 20)}`,
    async () => {
      await expect((async () => validatorOf(pattern(source), { trusted: false })("ab"))()).rejects.toThrow(
        /not supported/,
      );
      expect(typeof (await fits(pattern(source), "ab", true))).toBe("boolean");
    },
  );
}

const kids = (fields: object, $ref = "#"): JsonSchema => ({
  ...fields,
  type: "object",
  properties: { name: { type: "string" }, kids: { type: "array", items: { $ref } } },
});

const recursive: Readonly<Record<string, JsonSchema>> = {
  "#": kids({}),
  "# of draft-07": kids({ $schema: "http://json-schema.org/draft-07/schema#" }),
  "# of 2020-12": kids({ $schema: "https://json-schema.org/draft/2020-12/schema" }),
  "# of draft-04": kids({ $schema: "http://json-schema.org/draft-04/schema#", id: "http://example.com/x" }),
  "# under an $id": kids({ $id: "https://example.com/node" }),
  "# under the same $id": kids({ $id: "https://example.com/node", title: "another" }),
  "# under the $id of a draft": kids({ $id: "https://json-schema.org/draft/2020-12/schema" }),
  "# under an empty $id": kids({ $id: "" }),
  "its own $id": kids({ $id: "https://example.com/node" }, "https://example.com/node"),
  "its own name": kids({ $id: "node" }, "node"),
  "an anchor": kids({ $anchor: "node" }, "#node"),
  "a property": {
    properties: { name: { type: "string" }, kids: { items: { properties: { name: { $ref: "#/properties/name" } } } } },
  },
};

for (const [what, schema] of Object.entries(recursive)) {
  verifies("I2", `a schema may refer to itself: ${what}`, async () => {
    expect(await fits(schema, { name: "a", kids: [{ name: "b" }] }, true)).toBe(true);
    expect(await fits(schema, { name: "a", kids: [{ name: 1 }] }, true)).toBe(false);
  });
}

test("an exclusive limit may be that of draft-04", async () => {
  const schema = { properties: { n: { minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false } } };
  expect(await Promise.all([0, 1, 9, 10].map((n) => fits(schema, { n })))).toEqual([false, true, true, false]);
});
