import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Tool } from "../../src/core/item.ts";
import { type Coerced, coerceValue } from "../../src/core/schema/coerce-value.ts";
import type { JsonSchema } from "../../src/core/schema/types.ts";
import { validatorOf } from "../../src/core/schema/validator.ts";
import { Violation } from "../../src/core/schema/violation.ts";
import { defineTool } from "../../src/core/tool.ts";
import type { ToolkitOptions } from "../../src/core/toolkit-options.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const one = (schema: JsonSchema): JsonSchema => ({ type: "object", properties: { a: schema }, required: ["a"] });
const optional = (schema: JsonSchema): JsonSchema => ({ type: "object", properties: { a: schema } });
const integer = { type: "integer" };
const number = { type: "number" };
const boolean = { type: "boolean" };
const text = { type: "string" };
const listOf = (items: JsonSchema) => ({ type: "array", items });
const colour = { enum: ["Red", "dark blue"] };
const kinds: JsonSchema = {
  oneOf: [
    { type: "object", properties: { kind: { const: "count" }, value: integer }, required: ["kind", "value"] },
    { type: "object", properties: { kind: { const: "flag" }, value: boolean }, required: ["kind", "value"] },
  ],
};
const tree: JsonSchema = {
  $defs: { node: { type: "object", properties: { size: integer, inner: { $ref: "#/$defs/node" } } } },
  ...one({ $ref: "#/$defs/node" }),
};

/** Slips: the schema, what a model wrote, what it meant. */
const slips: readonly (readonly [what: string, schema: JsonSchema, given: unknown, meant: unknown])[] = [
  ["null for an optional field", optional(integer), { a: null }, {}],
  ["an empty text for an optional number", optional(number), { a: "" }, {}],
  ["an empty text for an optional choice", optional(colour), { a: "" }, {}],
  ["an empty text for an optional text that may not be empty", optional({ ...text, minLength: 1 }), { a: "" }, {}],
  ["null for an optional list", optional(listOf(text)), { a: null }, {}],
  ["a number as text", one(number), { a: "10" }, { a: 10 }],
  ["a negative number with a fraction", one(number), { a: "-2.5" }, { a: -2.5 }],
  ["a number with an exponent", one(number), { a: "1e3" }, { a: 1000 }],
  ["an integer as text", one(integer), { a: "10" }, { a: 10 }],
  ["an integer with a zero fraction", one(integer), { a: "5.0" }, { a: 5 }],
  ["the largest integer a number holds", one(integer), { a: "9007199254740991" }, { a: 9007199254740991 }],
  ["true as text", one(boolean), { a: "true" }, { a: true }],
  ["false as text", one(boolean), { a: "false" }, { a: false }],
  ["True as Python writes it", one(boolean), { a: "True" }, { a: true }],
  ["yes", one(boolean), { a: "yes" }, { a: true }],
  ["the digit as text for true", one(boolean), { a: "1" }, { a: true }],
  ["the digit as text for false", one(boolean), { a: "0" }, { a: false }],
  ["no", one(boolean), { a: "no" }, { a: false }],
  ["1 for true", one(boolean), { a: 1 }, { a: true }],
  ["0 for false", one(boolean), { a: 0 }, { a: false }],
  ["an object as JSON text", one(optional(integer)), { a: '{"a":1}' }, { a: { a: 1 } }],
  ["a list as JSON text", one(listOf(integer)), { a: " [1, 2]" }, { a: [1, 2] }],
  ["slips inside JSON text", one(listOf(one(integer))), { a: '[{"a":"1"}]' }, { a: [{ a: 1 }] }],
  ["all of it as JSON text", one(integer), '{"a":1}', { a: 1 }],
  ["a bare value for a list", one(listOf(text)), { a: "x" }, { a: ["x"] }],
  ["a bare number for a list", one(listOf(integer)), { a: 7 }, { a: [7] }],
  ["a bare object for a list", one(listOf(one(integer))), { a: { a: 1 } }, { a: [{ a: 1 }] }],
  ["a bare slip for a list", one(listOf(integer)), { a: "7" }, { a: [7] }],
  ["wrong case in a choice", one(colour), { a: "red" }, { a: "Red" }],
  ["blanks around a choice", one(colour), { a: " Dark Blue\n" }, { a: "dark blue" }],
  ["a number as text among choices", one({ enum: [10, 20] }), { a: "20" }, { a: 20 }],
  ["wrong case in a constant", one({ const: "On" }), { a: "ON" }, { a: "On" }],
  ["one member of a list", one(listOf(integer)), { a: [1, "2", 3] }, { a: [1, 2, 3] }],
  ["a value of any name", { type: "object", additionalProperties: integer }, { x: "1" }, { x: 1 }],
  ["a name by pattern", { type: "object", patternProperties: { "^n": integer } }, { n1: "1" }, { n1: 1 }],
  [
    "a list by position",
    one({ type: "array", prefixItems: [integer, boolean] }),
    { a: ["1", "yes"] },
    { a: [1, true] },
  ],
  [
    "behind a reference, at any depth",
    tree,
    { a: { inner: { inner: { size: "3" } } } },
    { a: { inner: { inner: { size: 3 } } } },
  ],
  ["of allOf", one({ allOf: [integer, { minimum: 3 }] }), { a: "5" }, { a: 5 }],
  ["of a nullable", one({ anyOf: [integer, { type: "null" }] }), { a: "5" }, { a: 5 }],
  ["of a list of types", one({ type: ["boolean", "null"] }), { a: "yes" }, { a: true }],
  ["inside a nullable object", one({ anyOf: [one(integer), { type: "null" }] }), { a: { a: "1" } }, { a: { a: 1 } }],
  ["told by a constant beside it", kinds, { kind: "flag", value: "true" }, { kind: "flag", value: true }],
  [
    "two at once, and what is right stays",
    { type: "object", properties: { a: integer, b: boolean, c: text } },
    { a: "1", b: "no", c: "" },
    { a: 1, b: false, c: "" },
  ],
  [
    "beside a name that is none for an object",
    optional(integer),
    JSON.parse('{"__proto__":"1","a":"2"}'),
    JSON.parse('{"__proto__":"1","a":2}'),
  ],
];

/** Inputs that have no common mistake, or may have more than one. */
const others: readonly (readonly [what: string, schema: JsonSchema, given: unknown])[] = [
  ["a required field that is null", one(integer), { a: null }],
  ["a required field that is empty", one(integer), { a: "" }],
  ["a field nobody declared", { type: "object", properties: {}, additionalProperties: false }, { a: null }],
  ["a fraction for an integer", one(integer), { a: "5.5" }],
  ["a number that is no integer", one(integer), { a: 5.5 }],
  ["more digits than a number holds", one(integer), { a: "9007199254740993" }],
  ["more decimals than a number holds", one(number), { a: "0.12345678901234567890" }],
  ["more than a number holds", one(number), { a: "1e999" }],
  ["less than a number holds", one(number), { a: "1e-999" }],
  ["a leading zero", one(number), { a: "007" }],
  ["hexadecimal", one(number), { a: "0x10" }],
  ["a number with a unit", one(number), { a: "10 km" }],
  ["blanks around a number", one(number), { a: " 10" }],
  ["a word for a number", one(number), { a: "ten" }],
  ["a boolean for a number", one(number), { a: true }],
  ["another word for true", one(boolean), { a: "on" }],
  ["another number for true", one(boolean), { a: 2 }],
  ["another digit as text for true", one(boolean), { a: "2" }],
  ["a number for a text", one(text), { a: 5 }],
  ["a boolean for a text", one(text), { a: true }],
  ["a list for a single value", one(integer), { a: [5] }],
  ["broken JSON for an object", one(optional(integer)), { a: '{"a":1' }],
  ["broken JSON for a list of texts", one(listOf(text)), { a: '["a", "b"' }],
  ["JSON of another type", one(optional(integer)), { a: "[1]" }],
  ["JSON with a number that is too long", one(one(integer)), { a: '{"a":9007199254740993}' }],
  ["null for a list", one(listOf(text)), { a: null }],
  ["an empty text for a list", one(listOf(text)), { a: "" }],
  ["a bare value that no list holds", one(listOf(integer)), { a: "x" }],
  ["two choices but for case", one({ enum: ["a", "A"] }), { a: " a" }],
  ["a choice misspelt", one(colour), { a: "rad" }],
  ["blanks inside a choice", one(colour), { a: "darkblue" }],
  ["a number or a list of texts", one({ anyOf: [integer, listOf(text)] }), { a: "5" }],
  [
    "a number or a truth",
    { type: "object", properties: { a: { anyOf: [integer, boolean] }, b: integer }, required: ["b"] },
    { a: 1.5, b: 1 },
  ],
  ["an object that may be either", { oneOf: [one(integer), one(boolean)] }, { a: "x" }],
  [
    "a mend where something else is wrong too",
    { type: "object", properties: { a: integer }, required: ["a", "b"] },
    { a: "1" },
  ],
  ["a mended value out of range", one({ ...integer, maximum: 3 }), { a: "5" }],
  [
    "a list of itself without end",
    { $defs: { l: listOf({ $ref: "#/$defs/l" }) }, ...one({ $ref: "#/$defs/l" }) },
    { a: 1 },
  ],
];

const take = async (schema: JsonSchema, value: unknown): Promise<Coerced | undefined> => coerceValue(schema, value);
const fits = async (schema: JsonSchema, value: unknown): Promise<boolean> =>
  !((await validatorOf(schema)(value)) instanceof Violation);

describe("the usual slips of models", () => {
  for (const [what, schema, given, meant] of slips) {
    verifies("C5", `are mended: ${what}`, async () => {
      const before = JSON.stringify(given);
      const mended = await take(schema, given);
      expect(mended?.value).toEqual(meant);
      expect(await fits(schema, mended?.value)).toBe(true);
      expect(JSON.stringify(given)).toBe(before);
      expect(await take(schema, mended?.value)).toBeUndefined();
    });
  }
  for (const [what, schema, given] of others) {
    verifies("C5", `are told from what is none: ${what}`, async () => {
      expect(await take(schema, given)).toBeUndefined();
    });
  }

  verifies("C5", "are recorded, each with its place, what was given and what was made of it", async () => {
    const schema = {
      type: "object",
      properties: { n: integer, "a/b": optional(boolean), x: integer, l: listOf(integer) },
    };
    const mended = await take(schema, { n: "1", "a/b": { a: "yes" }, x: null, l: '["2"]' });
    expect(mended).toEqual({
      value: { n: 1, "a/b": { a: true }, l: [2] },
      repairs: [
        { pointer: "/a~1b/a", from: "yes", to: true },
        { pointer: "/l", from: '["2"]', to: ["2"] },
        { pointer: "/n", from: "1", to: 1 },
        { pointer: "/x", from: null, to: undefined },
        { pointer: "/l/0", from: "2", to: 2 },
      ],
    });
  });
});

const leaf = fc.constantFrom<JsonSchema>(
  integer,
  number,
  boolean,
  text,
  colour,
  { ...integer, minimum: 0 },
  { type: "null" },
);
const { schema: anySchema } = fc.letrec<{ schema: JsonSchema; object: JsonSchema }>((tie) => ({
  schema: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    leaf,
    tie("object"),
    tie("schema").map(listOf),
    fc.tuple(tie("schema"), tie("schema")).map(([a, b]) => ({ anyOf: [a, b] })),
    fc.tuple(tie("schema"), tie("schema")).map(([a, b]) => ({ allOf: [a, b] })),
  ),
  object: fc
    .tuple(fc.dictionary(fc.constantFrom("a", "b", "c"), tie("schema")), fc.subarray(["a", "b", "c"]), fc.boolean())
    .map(([properties, required, open]) => ({
      type: "object",
      properties,
      required: required.filter((key) => Object.hasOwn(properties, key)),
      additionalProperties: open,
    })),
}));
const odd = fc.constantFrom<unknown>(
  "10",
  "5.0",
  "true",
  "yes",
  1,
  0,
  null,
  "",
  " RED",
  "[1]",
  '{"a":"1"}',
  '["true"]',
  "x",
  2.5,
);
const { value: anyValue } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    odd,
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "c", "d"), tie("value")),
  ),
}));

describe("whatever the schema and the value", () => {
  verifies("C5", "what fits is left alone, what is changed fits afterwards, and once is enough", async () => {
    let changed = 0;
    const check = async (schema: JsonSchema, value: unknown) => {
      const before = JSON.stringify(value);
      const mended = await take(schema, value);
      expect(JSON.stringify(value)).toBe(before);
      if (mended === undefined) return;
      changed += 1;
      expect(await fits(schema, value)).toBe(false);
      expect(await fits(schema, mended.value)).toBe(true);
      expect(mended.repairs.length).toBeGreaterThan(0);
      expect(await take(schema, mended.value)).toBeUndefined();
    };
    // To compile a schema takes longest: each is met by several values.
    const values = fc.array(anyValue, { minLength: 5, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(anySchema, values, async (schema, given) => {
        for (const value of given) await check(schema, value);
      }),
      { numRuns: 300 },
    );
    // It has something to say: not everything was left alone.
    expect(changed).toBeGreaterThan(50);
  });
});

describe("a call", () => {
  const seen = (input: Tool["input"], options: ToolkitOptions = {}, own: Tool["options"] = undefined) => {
    const inputs: unknown[] = [];
    const tool = defineTool({
      name: "see",
      input: input as JsonSchema,
      options: own,
      run: (given) => void inputs.push(given),
    });
    return { inputs, toolkit: new Toolkit({ items: [tool], ...options }) };
  };
  const asked: readonly (readonly [
    what: string,
    call: boolean | undefined,
    setting: boolean | undefined,
    own: boolean | undefined,
    is: boolean,
  ])[] = [
    ["not by itself", undefined, undefined, undefined, false],
    ["as its option says", true, undefined, undefined, true],
    ["as the toolkit's setting says", undefined, true, undefined, true],
    ["as the tool says", undefined, undefined, true, true],
    ["not where the call says no", false, true, true, false],
    ["not where the setting says no", undefined, false, true, false],
  ];
  for (const [what, call, setting, own, is] of asked) {
    verifies(["C5", "C2"], `mends ${what}`, async () => {
      const { inputs, toolkit } = seen(one(integer), { settings: { "*": { coerce: setting } } }, { coerce: own });
      const calling = toolkit.call("see", { a: "1" }, { coerce: call });
      if (is) await calling;
      else expect((await failure(calling)).code).toBe("INVALID_INPUT");
      expect(inputs).toEqual(is ? [{ a: 1 }] : []);
    });
  }

  verifies("C5", "that fits is passed on as the very object it was", async () => {
    const { inputs, toolkit } = seen(one(integer));
    const input = { a: 1, b: { c: "10" } };
    await toolkit.call("see", input, { coerce: true });
    expect(inputs[0]).toBe(input);
  });

  verifies("C5", "that cannot be mended is refused as it was given, with every issue", async () => {
    const { toolkit } = seen({ type: "object", properties: { a: integer, b: integer }, required: ["a", "b"] });
    const error = await failure(toolkit.call("see", { a: "1", b: "x" }, { coerce: true }));
    expect(error).toMatchObject({
      code: "INVALID_INPUT",
      details: { issues: [{ pointer: "/a" }, { pointer: "/b" }] },
    });
  });

  verifies(
    ["C5", "I2"],
    "of a Standard Schema is mended before defaults and transforms; middleware sees it so",
    async () => {
      const wire: unknown[] = [];
      const input = z.object({
        n: z.number().default(7),
        day: z.string().transform((day) => day.length),
        on: z.boolean(),
      });
      const { inputs, toolkit } = seen(input, {
        use: [
          (call, next) => {
            if (call.verb === "call") wire.push(call.input);
            return next(call);
          },
        ],
      });
      await toolkit.call("see", { day: "Monday", on: "yes", n: null }, { coerce: true });
      expect(wire).toEqual([{ day: "Monday", on: true }]);
      expect(inputs).toEqual([{ n: 7, day: 6, on: true }]);
    },
  );

  test("validates an input that fits once, not twice", async () => {
    let validated = 0;
    const input = z.object({ n: z.number() }).refine(() => {
      validated += 1;
      return true;
    });
    const { toolkit } = seen(input);
    await toolkit.call("see", { n: 1 }, { coerce: true });
    expect(validated).toBe(1);
  });
});
