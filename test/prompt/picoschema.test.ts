import { describe, expect } from "vitest";
import { type PicoschemaProblem, picoschemaToJsonSchema } from "../../src/prompt/dotprompt/picoschema.ts";
import { verifies } from "../support/verifies.ts";

function read(value: unknown) {
  const problems: PicoschemaProblem[] = [];
  const schema = picoschemaToJsonSchema(value, (problem) => problems.push(problem));
  return { schema, problems };
}

const object = (properties: object, required?: readonly string[], additionalProperties: unknown = false) => ({
  type: "object",
  properties,
  ...(required === undefined ? {} : { required }),
  additionalProperties,
});

describe("Picoschema", () => {
  const forms: readonly [what: string, pico: unknown, schema: unknown][] = [
    ["a scalar", "string", { type: "string" }],
    ["a description", "number, how many, at most", { type: "number", description: "how many, at most" }],
    ["a description without a blank", "number,how many", { type: "number", description: "how many" }],
    ["any", { a: "any", "b?": "any, whatever" }, object({ a: {}, b: { description: "whatever" } }, ["a"])],
    ["null", { a: "null" }, object({ a: { type: "null" } }, ["a"])],
    [
      "properties",
      { a: "boolean", b: "integer" },
      object({ a: { type: "boolean" }, b: { type: "integer" } }, ["a", "b"]),
    ],
    ["optional", { "a?": "boolean, if so" }, object({ a: { type: ["boolean", "null"], description: "if so" } })],
    [
      "lists",
      { "a(array, of texts)": "string, one", "b?(array)": "number" },
      object(
        {
          a: { type: "array", description: "of texts", items: { type: "string", description: "one" } },
          b: { type: ["array", "null"], items: { type: "number" } },
        },
        ["a"],
      ),
    ],
    [
      "objects",
      { "a?(object, nested)": { "b?": "string" }, c: { d: "string" } },
      object(
        {
          a: { ...object({ b: { type: ["string", "null"] } }), type: ["object", "null"], description: "nested" },
          c: object({ d: { type: "string" } }, ["d"]),
        },
        ["c"],
      ),
    ],
    [
      "a list of objects",
      { "a(array)": { b: "string" } },
      object({ a: { type: "array", items: object({ b: { type: "string" } }, ["b"]) } }, ["a"]),
    ],
    [
      "choices",
      { "a(enum)": ["X", "Y"], "b?(enum, one (or none))": [1] },
      object({ a: { enum: ["X", "Y"] }, b: { description: "one (or none)", enum: [1, null] } }, ["a"]),
    ],
    [
      "others too",
      { a: "string", "(*)": "number, lucky" },
      object({ a: { type: "string" } }, ["a"], { type: "number", description: "lucky" }),
    ],
    ["others alone", { "(*)": "any" }, object({}, undefined, {})],
    ["nothing", {}, object({})],
  ];
  for (const [what, pico, schema] of forms) {
    verifies("P10", what, () => {
      expect(read(pico)).toEqual({ schema, problems: [] });
    });
  }

  const wrong: readonly [what: string, pico: unknown, path: readonly string[], message: string, hint: string][] = [
    ["an unknown type", { a: { b: "text" } }, ["a", "b"], 'there is no type "text"', "The types are string"],
    ["a misspelt type", "bolean", [], 'there is no type "bolean"', 'Did you mean "boolean"?'],
    ["a list as elsewhere", { a: "string[], many" }, ["a"], 'no type "string[]"', "`name(array): string`"],
    ["a choice as elsewhere", { a: '"x" | "y"' }, ["a"], "there is no type", "`name(enum): [x, y]`"],
    ["a list of values", { a: ["x"] }, ["a"], "there is a list", "`name(enum): [A, B]`"],
    ["nothing", { a: null }, ["a"], "there is nothing", "Write a type"],
    ["a number", { a: 5 }, ["a"], "there is 5", "Write a type"],
    ["object as a type", { a: "object" }, ["a"], 'no type "object"', "Write `name(object):`"],
    [
      "a scalar in parentheses",
      { "a?(string)": "who" },
      ["a?(string)"],
      '"string" stands in parentheses',
      "`a?: string`",
    ],
    [
      "a word in parentheses",
      { "a(list)": "string" },
      ["a(list)"],
      '"list" stands in parentheses',
      "array, object or enum",
    ],
    [
      "a parenthesis without an end",
      { "a(array": "string" },
      ["a(array"],
      "is no name of a property",
      "Write it as in",
    ],
    ["a choice of nothing", { "a(enum)": "X" }, ["a(enum)"], "an enum needs a list", "color(enum)"],
    ["a schema of elsewhere", "Person", [], 'no type "Person"', "write it out"],
  ];
  for (const [what, pico, path, message, hint] of wrong) {
    verifies("P10", `${what} is reported, with its path`, () => {
      const { problems } = read(pico);
      expect(problems).toHaveLength(1);
      expect(problems[0]?.path).toEqual(path);
      expect(problems[0]?.what).toContain(message);
      expect(problems[0]?.hint).toContain(hint);
    });
  }
});
