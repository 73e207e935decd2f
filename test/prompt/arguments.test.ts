import { describe, expect } from "vitest";
import { coerceArguments, promptArguments } from "../../src/prompt/prompt-arguments.ts";
import { verifies } from "../support/verifies.ts";

describe("promptArguments", () => {
  verifies("P6", "the top-level properties are the arguments", () => {
    const schema = {
      type: "object",
      properties: {
        text: { type: "string", title: "Text", description: "What to read." },
        size: { $ref: "#/$defs/size" },
        any: true,
      },
      required: ["text"],
      $defs: { size: { type: "integer", description: "How long." } },
    };
    expect(promptArguments(schema)).toEqual([
      { name: "text", title: "Text", description: "What to read.", required: true },
      { name: "size", description: "How long.", required: false },
      { name: "any", required: false },
    ]);
    expect(promptArguments({ properties: { a: {} } })).toEqual([{ name: "a", required: false }]);
    expect(promptArguments(undefined)).toEqual([]);
    expect(promptArguments({ type: "object" })).toEqual([]);
    expect(promptArguments({ $ref: "#/$defs/a", $defs: { a: { type: "object", properties: { b: {} } } } })).toEqual([
      { name: "b", required: false },
    ]);
  });

  verifies("P6", "an input that is no object is one argument `input`", () => {
    expect(promptArguments({ type: "string", description: "A word." })).toEqual([
      { name: "input", description: "A word.", required: true },
    ]);
    expect(coerceArguments({ type: "integer" }, { input: "5" })).toBe(5);
    expect(coerceArguments({ type: "string" }, { input: "5" })).toBe("5");
    expect(coerceArguments({ type: "array" }, { input: "[1]" })).toEqual([1]);
    expect(coerceArguments({ type: "string" }, {})).toBeUndefined();
  });
});

describe("coerceArguments", () => {
  const cases: readonly [schema: object, text: string, value: unknown][] = [
    [{ type: "string" }, "10", "10"],
    [{}, "10", "10"],
    [{ type: "integer" }, "10", 10],
    [{ type: "integer" }, " -3 ", -3],
    [{ type: "integer" }, "10.5", "10.5"],
    [{ type: "integer" }, "12345678901234567890", "12345678901234567890"],
    [{ type: "integer" }, "", ""],
    [{ type: "number" }, "1.5e3", 1500],
    [{ type: "number" }, "0x10", "0x10"],
    [{ type: "number" }, "Infinity", "Infinity"],
    [{ type: "number" }, "1e999", "1e999"],
    [{ type: "number" }, "ten", "ten"],
    [{ type: "boolean" }, "true", true],
    [{ type: "boolean" }, "false", false],
    [{ type: "boolean" }, "yes", "yes"],
    [{ type: ["integer", "null"] }, "null", null],
    [{ type: ["integer", "string"] }, "10", "10"],
    [{ type: "array" }, '["a", 1]', ["a", 1]],
    [{ type: "array" }, '{"a": 1}', '{"a": 1}'],
    [{ type: "object" }, '{"a": [1]}', { a: [1] }],
    [{ type: "object" }, "{a: 1}", "{a: 1}"],
    [{ enum: ["1", 2, true] }, "1", "1"],
    [{ enum: ["1", 2, true] }, "2", 2],
    [{ enum: ["1", 2, true] }, "true", true],
    [{ enum: ["1", 2, true] }, "3", "3"],
    [{ const: 5 }, "5", 5],
    [{ anyOf: [{ type: "integer" }, { type: "boolean" }] }, "true", true],
    [{ anyOf: [{ type: "integer" }, { type: "string" }] }, "5", "5"],
    [{ oneOf: [{ $ref: "#/$defs/n" }] }, "5", 5],
    [{ $ref: "#/$defs/n" }, "5", 5],
    [{ $ref: "#/$defs/loop" }, "5", "5"],
  ];
  for (const [property, text, value] of cases) {
    verifies("P6", `${JSON.stringify(text)} for ${JSON.stringify(property)} is ${JSON.stringify(value)}`, () => {
      const $defs = { n: { type: "number" }, loop: { $ref: "#/$defs/loop" } };
      expect(coerceArguments({ type: "object", properties: { x: property }, $defs }, { x: text })).toEqual({
        x: value,
      });
    });
  }

  verifies("P6", "what is not in the schema stays text, or is what additionalProperties says", () => {
    expect(coerceArguments({ type: "object" }, { a: "1" })).toEqual({ a: "1" });
    expect(coerceArguments({ additionalProperties: { type: "number" } }, { a: "1" })).toEqual({ a: 1 });
    expect(coerceArguments(undefined, { a: "1" })).toEqual({ a: "1" });
    const odd = coerceArguments({ type: "object" }, JSON.parse('{"__proto__": "1"}')) as object;
    expect(Object.getOwnPropertyNames(odd)).toEqual(["__proto__"]);
  });
});
