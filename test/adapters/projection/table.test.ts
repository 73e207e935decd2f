import { describe, expect, test } from "vitest";
import { googleProjection } from "../../../src/adapters/projection/google-schema.ts";
import { openAIProjection, openAIStrictProjection } from "../../../src/adapters/projection/openai-schema.ts";
import { anthropicProjection } from "../../../src/adapters/projection/plain-schema.ts";
import type { JsonSchema } from "../../../src/core/schema/types.ts";
import { verifies } from "../../support/verifies.ts";
import { google, openAIStrict, plain } from "./grammars.ts";

const object = (properties: object, more: object = {}): JsonSchema => ({ type: "object", properties, ...more });
const member = (schema: object) => object({ x: schema }, { required: ["x"] });
const memberOf = (schema: JsonSchema) => (schema.properties as Record<string, unknown>).x;

describe("strict mode of OpenAI", () => {
  const written: readonly [what: string, schema: object, expected: object][] = [
    ["a text with limits", { type: "string", minLength: 2 }, { type: "string", description: "At least 2 characters." }],
    ["a format it knows", { type: "string", format: "uuid" }, { type: "string", format: "uuid" }],
    ["one it does not", { type: "string", format: "uri" }, { type: "string", description: "Format: uri." }],
    [
      "a default",
      { type: "string", description: "Unit.", default: "km" },
      { type: "string", description: 'Unit. Default: "km".' },
    ],
    [
      "what looks ahead",
      { type: "string", pattern: "^(?!a)" },
      { type: "string", description: "Matches the pattern ^(?!a)" },
    ],
    ["a constant", { const: "a" }, { type: "string", enum: ["a"] }],
    ["choices of several types", { enum: ["a", 1] }, { type: ["string", "number"], enum: ["a", 1] }],
    ["a list of types", { type: ["string", "number"] }, { anyOf: [{ type: "string" }, { type: "number" }] }],
    ["OpenAPI's nullable", { type: "string", nullable: true }, { type: ["string", "null"] }],
    [
      "oneOf",
      { oneOf: [{ const: "a" }, { type: "integer" }] },
      { anyOf: [{ type: "string", enum: ["a"] }, { type: "integer" }] },
    ],
    ["allOf", { allOf: [{ type: "integer", minimum: 1 }, { minimum: 3 }] }, { type: "integer", minimum: 3 }],
    [
      "a nested object",
      object({ y: { type: "boolean" } }),
      {
        type: "object",
        properties: { y: { type: ["boolean", "null"] } },
        required: ["y"],
        additionalProperties: false,
      },
    ],
  ];
  for (const [what, schema, expected] of written) {
    verifies("T6", `writes ${what}`, () => {
      const { strict, schema: projected } = openAIStrictProjection(member(schema));
      expect([strict, memberOf(projected)]).toEqual([true, expected]);
      expect(openAIStrict(projected)).toEqual([]);
    });
  }

  const refused: readonly [what: string, schema: JsonSchema, pointer: string, says: string][] = [
    ["anything", member({}), "/properties/x", "takes anything"],
    ["a map", member({ type: "object", additionalProperties: { type: "string" } }), "/properties/x", "arbitrary names"],
    ["a tuple", member({ type: "array", prefixItems: [{ type: "string" }] }), "/properties/x", "whose places differ"],
    ["members of any name at the top", { type: "object", additionalProperties: true }, "", "arbitrary names"],
    ["what is required and not described", object({}, { required: ["y"] }), "", "requires y"],
    [
      "parts that contradict each other",
      member({ allOf: [{ type: "string" }, { type: "number" }] }),
      "/properties/x",
      "cannot be merged",
    ],
    ["eleven objects in each other", nested(11), "", "deeper than 10"],
    ["too many choices", member({ enum: Array.from({ length: 1_001 }, (_, at) => at) }), "", "more than 1000 choices"],
    [
      "too many members",
      object(Object.fromEntries(Array.from({ length: 5_001 }, (_, at) => [`m${at}`, { type: "null" }]))),
      "",
      "5000 properties",
    ],
    [
      "a part that contains itself",
      { ...member({ $ref: "#/$defs/a" }), $defs: { a: { allOf: [{ $ref: "#/$defs/a" }] } } },
      "/$defs/a",
      "contains itself",
    ],
  ];
  for (const [what, schema, pointer, says] of refused) {
    verifies("T6", `gives way to the plain form for ${what}, and says so`, () => {
      const { strict, schema: projected, lost } = openAIStrictProjection(schema);
      expect(strict).toBe(false);
      expect(lost[0]).toEqual({ pointer, what: expect.stringContaining(says) });
      expect(projected).toEqual(openAIProjection(schema).schema);
    });
  }

  verifies("T6", "is no loss to a tool that says nothing of its input", () => {
    const { strict, schema, lost } = openAIStrictProjection({ type: "object" });
    expect([strict, schema, lost]).toEqual([false, { type: "object", properties: {} }, []]);
  });

  verifies("T6", "leads back: null is what was left out, except where null is meant", () => {
    const { restore } = openAIStrictProjection(
      object({
        left: { type: "string" },
        meant: { type: ["string", "null"] },
        list: { type: "array", items: object({ left: { type: "number" } }, { additionalProperties: false }) },
      }),
    );
    expect(restore({ left: null, meant: null, list: [{ left: null }, { left: 1 }] })).toEqual({
      meant: null,
      list: [{}, { left: 1 }],
    });
    expect(restore("no object")).toBe("no object");
  });

  verifies("T6", "keeps a recursion as references", () => {
    const node = object({ next: { $ref: "#/definitions/node" }, value: { type: "string" } }, { required: ["value"] });
    const { strict, schema } = openAIStrictProjection({ $ref: "#/definitions/node", definitions: { node } });
    expect(strict).toBe(true);
    expect(openAIStrict(schema)).toEqual([]);
    expect(schema.$defs).toMatchObject({
      node_1: { properties: { next: { anyOf: [{ $ref: "#/$defs/node_1" }, { type: "null" }] } } },
    });
  });
});

function nested(levels: number): JsonSchema {
  return levels === 1 ? object({}, { additionalProperties: false }) : object({ inner: nested(levels - 1) });
}

describe("Gemini's subset", () => {
  const written: readonly [what: string, schema: object, expected: object][] = [
    ["null as one of two", { anyOf: [{ type: "string" }, { type: "null" }] }, { type: "STRING", nullable: true }],
    ["null in a list of types", { type: ["integer", "null"] }, { type: "INTEGER", nullable: true }],
    ["two types", { type: ["string", "number"] }, { anyOf: [{ type: "STRING" }, { type: "NUMBER" }] }],
    ["a constant", { const: "a" }, { type: "STRING", format: "enum", enum: ["a"] }],
    ["choices that are numbers", { enum: [1, 2] }, { type: "NUMBER", description: "One of: 1, 2." }],
    ["a format it does not know", { type: "string", format: "uri" }, { type: "STRING", description: "Format: uri." }],
    [
      "counts as texts",
      { type: "array", items: { type: "string" }, minItems: 1 },
      { type: "ARRAY", items: { type: "STRING" }, minItems: "1" },
    ],
    ["anything", {}, { anyOf: [{ type: "STRING" }, { type: "NUMBER" }, { type: "BOOLEAN" }] }],
    [
      "a tuple",
      { prefixItems: [{ type: "string" }, { type: "number" }] },
      { type: "ARRAY", items: { anyOf: [{ type: "STRING" }, { type: "NUMBER" }] } },
    ],
    ["a map", { type: "object", additionalProperties: { type: "string" } }, { type: "OBJECT" }],
    [
      "the description of a union at each branch",
      { description: "Id.", anyOf: [{ type: "string" }, { type: "integer" }] },
      {
        anyOf: [
          { type: "STRING", description: "Id." },
          { type: "INTEGER", description: "Id." },
        ],
      },
    ],
  ];
  for (const [what, schema, expected] of written) {
    verifies("T6", `writes ${what}`, () => {
      const projected = googleProjection(member(schema)).schema;
      expect(memberOf(projected)).toEqual(expected);
      expect(google(projected)).toEqual([]);
    });
  }

  verifies("T6", "writes references out, and cuts a recursion where it begins anew", () => {
    const node = object({ next: { $ref: "#/$defs/node" }, value: { type: "string" } });
    const { schema, lost } = googleProjection({ ...member({ $ref: "#/$defs/node" }), $defs: { node } });
    expect(memberOf(schema)).toEqual({
      type: "OBJECT",
      properties: { next: { type: "OBJECT" }, value: { type: "STRING" } },
    });
    expect(lost).toEqual([
      { pointer: "/properties/x/properties/next/$ref", what: expect.stringContaining("recursion") },
    ]);
  });

  test("a schema that grows without bound when it is written out is cut", () => {
    const $defs = Object.fromEntries(
      Array.from({ length: 15 }, (_, at) => [
        `d${at}`,
        at === 14
          ? { type: "string" }
          : object({ a: { $ref: `#/$defs/d${at + 1}` }, b: { $ref: `#/$defs/d${at + 1}` } }),
      ]),
    );
    const { schema, lost } = googleProjection({ ...member({ $ref: "#/$defs/d0" }), $defs });
    expect(JSON.stringify(schema).length).toBeLessThan(100_000);
    expect(lost.some(({ what }) => what.includes("too large"))).toBe(true);
    expect(google(schema)).toEqual([]);
  });
});

describe("any schema", () => {
  const odd: readonly [string, JsonSchema][] = [
    ["types that are none", object({ x: { type: "any" }, y: { type: "string" } })],
    [
      "references that lead nowhere",
      object({ x: { $ref: "#/$defs/gone" }, y: { $ref: "https://example.com/s.json" } }),
    ],
    ["a union at the top", { anyOf: [object({ a: { type: "string" } }), object({ a: { type: "number" } })] }],
    ["a reference to itself at the top", { $ref: "#" }],
    [
      "two references to each other",
      { $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/b" }, b: { $ref: "#/$defs/a" } } },
    ],
    ["choices at the top", { type: "object", enum: [{ a: 1 }] }],
    ["booleans as schemas", object({ yes: true, no: false }, { required: ["yes"] })],
    [
      "members with odd names",
      object({ $top: { type: "integer" }, "filter[id]": { type: "string" } }, { required: ["$top"] }),
    ],
    ["draft-07's tuples", object({ x: { type: "array", items: [{ type: "string" }], additionalItems: false } })],
    ["draft-04's limits", object({ x: { type: "number", exclusiveMinimum: true, minimum: 0 } })],
    ["no schema at all", { name: "string" }],
    ["conditions", { ...object({ a: { type: "string" } }), if: { required: ["a"] }, else: { required: ["b"] } }],
    ["an empty list of choices", member({ enum: [] })],
    [
      "schemas a hundred deep",
      object({ x: Array.from({ length: 150 }).reduce<object>((inner) => ({ items: inner }), {}) }),
    ],
  ];
  for (const [what, schema] of odd) {
    verifies("T6", `is taken by every provider: ${what}`, () => {
      const strict = openAIStrictProjection(schema);
      expect((strict.strict ? openAIStrict : plain(/^/))(strict.schema)).toEqual([]);
      expect(plain(/^/)(openAIProjection(schema).schema)).toEqual([]);
      expect(plain(/^[A-Za-z0-9_.-]{1,64}$/)(anthropicProjection(schema).schema)).toEqual([]);
      expect(google(googleProjection(schema).schema)).toEqual([]);
    });
  }

  verifies("T6", "at the top alternatives become the members of one object, with what all of them require", () => {
    const schema = {
      description: "Finds.",
      oneOf: [
        object({ id: { type: "string" }, at: { type: "string" } }, { required: ["id", "at"] }),
        object({ id: { type: "number" }, name: { type: "string" } }, { required: ["id", "name"] }),
      ],
    };
    expect(anthropicProjection(schema)).toMatchObject({
      schema: {
        type: "object",
        description: "Finds. Give one of these: id, at; id, name.",
        properties: {
          id: { anyOf: [{ type: "string" }, { type: "number" }] },
          at: { type: "string" },
          name: { type: "string" },
        },
        required: ["id"],
      },
      lost: [{ pointer: "/oneOf", what: expect.any(String) }],
    });
  });

  verifies("T6", "names of members lead back, wherever they are", () => {
    const schema = object({ list: { type: "array", items: object({ "a b": { type: "string" } }) } });
    for (const project of [anthropicProjection, googleProjection]) {
      const { schema: projected, restore } = project(schema);
      const name = /a_b_[A-Za-z0-9]{6}/.exec(JSON.stringify(projected))?.[0] ?? "";
      expect(restore({ list: [{ [name]: "x" }] })).toEqual({ list: [{ "a b": "x" }] });
    }
  });

  verifies("T6", "that a provider accepts as it is is passed on, in a copy of its own", () => {
    const schema = object(
      { list: { type: "array", items: object({ a: { type: "string", enum: ["x"] } }) } },
      { description: "Lists.", required: ["list"], additionalProperties: false },
    );
    for (const project of [openAIProjection, anthropicProjection]) {
      const { schema: projected, lost, restore } = project(schema);
      expect(projected).toEqual(schema);
      expect(projected.properties).not.toBe(schema.properties);
      expect(lost).toEqual([]);
      expect(restore({ list: [] })).toEqual({ list: [] });
    }
  });

  verifies("T6", "is passed on as JSON writes it, whatever it holds", () => {
    const schema = object({ a: { type: "string", default: () => "now", examples: [{ toJSON: () => "x" }] } });
    expect(anthropicProjection(schema).schema).toEqual(object({ a: { type: "string", examples: ["x"] } }));
  });

  const changed: readonly [what: string, schema: JsonSchema, expected: object][] = [
    ["an array without items", object({ a: { type: "array" } }), { properties: { a: { type: "array", items: {} } } }],
    ["a name in required", object({}, { required: ["a b"] }), { required: [expect.stringMatching(/^a_b_/)] }],
    ["a name twice in required", object({ a: {} }, { required: ["a", "a"] }), { required: ["a"] }],
    ["a list of items", object({ a: { items: [{}] } }), { properties: { a: { prefixItems: [{}], items: {} } } }],
    ["choices at the top", object({ a: {} }, { enum: [{}] }), { enum: undefined }],
    ["no properties", { type: "object" }, { properties: {} }],
    ["what is no schema", object({ a: { type: "text" } }), { properties: { a: {} } }],
    ["a keyword for validators", object({ a: { $comment: "c" } }), { properties: { a: {} } }],
  ];
  for (const [what, schema, expected] of changed) {
    verifies("T6", `is not passed on as it is with ${what}`, () => {
      const { schema: projected } = anthropicProjection(schema);
      expect(projected).toEqual({ ...schema, ...expected });
    });
  }

  verifies("T6", "is projected once: for the same schema, and for one with the same content", () => {
    const schema = () => member({ type: "string", description: "Once." });
    for (const project of [openAIProjection, openAIStrictProjection, anthropicProjection, googleProjection])
      expect(project(schema())).toBe(project(schema()));
  });
});
