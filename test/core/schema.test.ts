import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ToolkitError } from "../../src/core/error.ts";
import type { Tool } from "../../src/core/item.ts";
import { validatorOf } from "../../src/core/schema/validator.ts";
import { Violation } from "../../src/core/schema/violation.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";

const tool = (input: unknown, fields: object = {}): Tool =>
  ({ kind: "tool", name: "t", input, run: (given: unknown) => given, ...fields }) as Tool;

function problemOf(item: Tool): ToolkitError<"INVALID_SCHEMA"> {
  const toolkit = new Toolkit();
  const good = { kind: "tool", name: "good", run: () => 1 } as const;
  try {
    toolkit.add(good, item);
  } catch (error) {
    if (!ToolkitError.is(error, "INVALID_SCHEMA")) throw error;
    expect(error.message).toContain('"t"');
    // Nothing half done: the name is free again.
    toolkit.add(good);
    return error;
  }
  throw new Error("It was taken.");
}

const cyclic: Record<string, unknown> = { type: "object", properties: {} };
(cyclic.properties as Record<string, unknown>).self = cyclic;

class Joi {
  type = "object";
  validate() {}
}

const bad: readonly (readonly [string, unknown, string, RegExp])[] = [
  ["null", null, "", /must be an object/],
  ["a number", 7, "", /must be an object/],
  ["a string", "object", "", /must be an object/],
  ["a list", [], "", /must be an object/],
  ["a function", () => ({}), "", /must be an object/],
  ["an instance of a class", new Joi(), "", /plain object.*Joi/],
  ["a Map", new Map(), "", /plain object.*Map/],
  ["a shape of zod schemas", { name: z.string(), age: z.number() }, "", /none of its keys is a keyword.*properties/],
  ["a shape of names of types", { name: "string" }, "", /none of its keys is a keyword.*type: "object"/],
  [
    "a zod schema inside plain JSON",
    { type: "object", properties: { name: z.string().min(3) } },
    "/properties/name",
    /plain JSON.*ZodString/,
  ],
  ["no type there is", { type: "objekt" }, "/type", /one of null, boolean/],
  ["an empty list of types", { type: [] }, "/type", /one of/],
  ["a wrong type below", { type: "object", properties: { a: { type: "str" } } }, "/properties/a/type", /one of/],
  ["properties as a list", { type: "object", properties: [] }, "/properties", /object of schemas/],
  ["a property that is no schema", { type: "object", properties: { a: 1 } }, "/properties/a", /a schema/],
  ["required as text", { type: "object", required: "a" }, "/required", /list of property names/],
  ["required with a number", { type: "object", required: [1] }, "/required", /list of property names/],
  ["an enum as text", { type: "object", properties: { a: { enum: "b" } } }, "/properties/a/enum", /list of values/],
  ["an empty anyOf", { type: "object", anyOf: [] }, "/anyOf", /at least one/],
  ["a bad schema in anyOf", { type: "object", anyOf: [true, "x"] }, "/anyOf/1", /a schema/],
  [
    "a negative length",
    { type: "object", properties: { "a/b": { minLength: -1 } } },
    "/properties/a~1b/minLength",
    /whole/,
  ],
  [
    "uniqueItems as text",
    { type: "object", properties: { a: { uniqueItems: "yes" } } },
    "/properties/a/uniqueItems",
    /true or false/,
  ],
  [
    "a pattern that is none",
    { type: "object", properties: { a: { pattern: "(" } } },
    "/properties/a/pattern",
    /regular/,
  ],
  [
    "a pattern that is no text",
    { type: "object", properties: { a: { pattern: 1 } } },
    "/properties/a/pattern",
    /regular/,
  ],
  [
    "a name that is no pattern",
    { type: "object", patternProperties: { "[": true } },
    "/patternProperties/[",
    /regular/,
  ],
  [
    "a $ref that dangles",
    { type: "object", properties: { a: { $ref: "#/$defs/b" } } },
    "/properties/a/$ref",
    /leads nowhere/,
  ],
  [
    "a $ref outside",
    { type: "object", properties: { a: { $ref: "https://example.com/a.json" } } },
    "/properties/a/$ref",
    /nothing is fetched/,
  ],
  ["a $ref that is no text", { $ref: 1 }, "/$ref", /must be text/],
  ["a string", { type: "string" }, "/type", /must describe an object/],
  ["an object or null", { type: ["object", "null"] }, "/type", /must describe an object/],
  ["a schema that contains itself", cyclic, "", /contains itself|cannot be written/],
  ["a BigInt as default", { type: "object", properties: { a: { default: 1n } } }, "", /cannot be written as JSON/],
  ["plain valibot", v.object({ a: v.string() }), "", /toStandardJsonSchema/],
  [
    "a Standard Schema without JSON Schema, as of zod 3",
    { "~standard": { version: 1, vendor: "zod", validate: () => ({ value: 1 }) } },
    "",
    /\(zod\) does not know its JSON Schema/,
  ],
  ["zod that has no JSON Schema", z.object({ when: z.date() }), "", /has no JSON Schema/],
  ["zod that is no object", z.string(), "/type", /must describe an object/],
  ["arktype that is no object", type("string"), "/type", /must describe an object/],
  [
    "a Standard Schema that gives nothing",
    {
      "~standard": {
        version: 1,
        vendor: "x",
        validate: () => ({ value: 1 }),
        jsonSchema: { input: () => undefined, output: () => undefined },
      },
    },
    "",
    /must be an object/,
  ],
];

describe("what is no schema is refused when it is added, and nothing is added with it", () => {
  for (const [what, schema, pointer, message] of bad) {
    verifies("I1", what, () => {
      const error = problemOf(tool(schema));
      expect(error.message).toMatch(message);
      const inner = schema === cyclic ? error.details.pointer : pointer;
      expect(error.details.pointer).toBe(inner);
      if (!message.source.includes("describe an object")) problemOf(tool(undefined, { output: schema }));
    });
  }
});

describe("what is a schema is taken", () => {
  const good: readonly (readonly [string, unknown])[] = [
    ["nothing", undefined],
    ["an empty one", {}],
    ...["$comment", "$anchor", "default", "examples", "const", "readOnly", "contentMediaType", "x-of-ours"].map(
      (keyword) => [`one that says ${keyword} alone`, { [keyword]: "text" }] as const,
    ),
    ["one without a prototype", Object.assign(Object.create(null), { type: "object" })],
    ["a recursive one", { type: "object", properties: { child: { $ref: "#" } } }],
    [
      "draft-07",
      {
        $schema: "http://json-schema.org/draft-07/schema#",
        type: "object",
        definitions: { a: true },
        properties: { a: { $ref: "#/definitions/a" } },
      },
    ],
    [
      "an escaped pointer",
      { type: "object", $defs: { "a/b~c d": true }, properties: { a: { $ref: "#/$defs/a~1b~0c%20d" } } },
    ],
    ["a legacy pattern", { type: "object", properties: { a: { pattern: "^[\\w-]+\\_$" } } }],
    ["words of its own", { type: "object", "x-order": [1], properties: { a: { format: "uuid", nullable: true } } }],
    ["a frozen one", Object.freeze({ type: "object", properties: Object.freeze({}) })],
    ["arktype", type({ a: "string" })],
    ["valibot, converted", toStandardJsonSchema(v.object({ a: v.string() }))],
    ["zod", z.object({ a: z.string().default("x") })],
  ];
  for (const [what, schema] of good) {
    verifies("I1", what, async () => {
      const toolkit = new Toolkit({ items: [tool(schema)] });
      expect((await toolkit.lookup("t", { kind: "tool" })).name).toBe("t");
      await toolkit.close();
    });
  }
});

verifies("I1", "no validator is loaded to add tools, in a process of its own", async () => {
  const script = `
    import { Toolkit } from ${JSON.stringify(new URL("../../src/toolkit/toolkit.ts", import.meta.url).href)};
    import { createRequire } from "node:module";
    const toolkit = new Toolkit();
    for (let n = 0; n < 100; n++) toolkit.add({ kind: "tool", name: "t" + n, input: { type: "object", required: ["a"], properties: { a: { pattern: "^a$", $ref: "#/$defs/x" } }, $defs: { x: true } }, run: () => 1 });
    const loaded = () => Object.keys(createRequire(import.meta.url).cache).some((file) => /[\\\\/]ajv[\\\\/]/.test(file));
    const before = loaded();
    await toolkit.call("t0", { a: "a" });
    await toolkit.close();
    console.log(before, loaded());`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
  expect(stdout.trim()).toBe("false true");
});

verifies("I2", "defaults and transforms of a Standard Schema apply, promises included", async () => {
  const seen: unknown[] = [];
  const schema = z.object({
    n: z.string().transform((text) => Number(text)),
    d: z.string().default("x"),
    a: z
      .number()
      .optional()
      .refine(async (n) => n !== 13, "unlucky"),
  });
  const toolkit = new Toolkit({ items: [tool(schema, { run: (given: unknown) => void seen.push(given) })] });
  await toolkit.call("t", { n: "7" });
  expect(seen).toEqual([{ n: 7, d: "x" }]);
  await expect(toolkit.call("t", { n: "7", a: 13 })).rejects.toMatchObject({
    code: "INVALID_INPUT",
    details: { issues: [{ pointer: "/a", message: "unlucky" }] },
  });
  expect(seen).toHaveLength(1);
});

verifies("I2", "a promise of another library is waited for, not taken for a pass", async () => {
  const schema = {
    "~standard": {
      version: 1,
      vendor: "x",
      // biome-ignore lint/suspicious/noThenProperty: a promise of another library
      validate: () => ({ then: (resolve: (result: object) => void) => resolve({ issues: [{ message: "no" }] }) }),
      jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
    },
  };
  await expect(new Toolkit({ items: [tool(schema)] }).call("t", {})).rejects.toMatchObject({ code: "INVALID_INPUT" });
});

verifies(
  "I2",
  "a Standard Schema validates by itself, though what it writes down wants no more than an object",
  async () => {
    const schema = {
      "~standard": {
        version: 1,
        vendor: "x",
        validate: (value: object) =>
          "token" in value ? { value } : { issues: [{ message: "no token", path: ["token", { key: 0 }] }] },
        jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
      },
    };
    const toolkit = new Toolkit({ items: [tool(schema)] });
    await toolkit.call("t", { token: 1 });
    await expect(toolkit.call("t", {})).rejects.toMatchObject({
      details: { issues: [{ pointer: "/token/0", message: "no token" }] },
    });
  },
);

verifies("I2", "JSON Schema of both drafts, formats on", async () => {
  const check = async (schema: Record<string, unknown>, value: unknown) =>
    (await validatorOf(schema)(value)) instanceof Violation;
  const prefixed = { type: "object", properties: { a: { prefixItems: [{ type: "string" }] } } };
  expect(await check(prefixed, { a: [1] })).toBe(true);
  const draft07 = {
    $schema: "http://json-schema.org/draft-07/schema#",
    type: "object",
    properties: { a: { items: [{ type: "string" }] } },
  };
  expect(await check(draft07, { a: [1] })).toBe(true);
  expect(await check(draft07, { a: ["x", 1] })).toBe(false);
  expect(await check({ type: "object", properties: { a: { format: "date-time" } } }, { a: "yesterday" })).toBe(true);
});

verifies(
  "I2",
  "equal schemas share one validator, two with one $id do not clash, and one changed in place is another",
  async () => {
    expect(validatorOf({ type: "object", title: "same" })).toBe(validatorOf({ title: "same", type: "object" }));
    const first = validatorOf({ $id: "https://example.com/x", type: "object", required: ["a"] });
    const second = validatorOf({ $id: "https://example.com/x", type: "object", required: ["b"] });
    expect(await first({ b: 1 })).toBeInstanceOf(Violation);
    expect(await second({ b: 1 })).toEqual({ b: 1 });
    const schema: Record<string, unknown> = { type: "object", title: "changed", required: ["a"] };
    const before = validatorOf(schema);
    schema.required = ["b"];
    expect(validatorOf(schema)).not.toBe(before);
    expect(await before({ a: 1 })).toEqual({ a: 1 });
  },
);

verifies(
  "C5",
  "every issue with its pointer, before anything runs, and valid input is passed on as it is",
  async () => {
    const given: unknown[] = [];
    const schema = {
      properties: {
        a: { type: "integer" },
        b: { enum: ["x", "y"] },
        c: { type: "array", items: { type: "string" } },
        "d/e": { const: 1 },
      },
      required: ["a"],
      additionalProperties: false,
    };
    const toolkit = new Toolkit({ items: [tool(schema, { run: (input: unknown) => void given.push(input) })] });
    const failure = toolkit.call("t", { b: "z", c: ["ok", 1], "d/e": 2, f: 1 });
    await expect(failure).rejects.toMatchObject({
      code: "INVALID_INPUT",
      ref: "builtin.t",
      phase: "validate",
      details: {
        issues: expect.arrayContaining([
          { pointer: "/a", message: "is missing" },
          { pointer: "/b", message: 'must be one of "x", "y"' },
          { pointer: "/c/1", message: "must be string" },
          { pointer: "/d~1e", message: "must be 1" },
          { pointer: "/f", message: "is not known here" },
        ]),
      },
    });
    // No coercion: "5" is no integer; and a schema that says no type describes an object all the same.
    for (const bad of [{ a: "5" }, { a: null }, "text", [1], null]) {
      await expect(toolkit.call("t", bad)).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(given).toEqual([]);
    const input = Object.freeze({ a: 5 });
    await toolkit.call("t", input);
    expect(given[0]).toBe(input);
  },
);

test("a schema whose validation throws is an INVALID_SCHEMA of that tool, with the cause", async () => {
  const boom = new Error("boom");
  const schema = z.object({
    a: z.string().refine(() => {
      throw boom;
    }),
  });
  await expect(new Toolkit({ items: [tool(schema)] }).call("t", { a: "x" })).rejects.toMatchObject({
    code: "INVALID_SCHEMA",
    ref: "builtin.t",
    cause: boom,
  });
});

verifies("I2", "a member called as what every object has is missing where it is missing", async () => {
  const names = ["constructor", "toString", "valueOf", "hasOwnProperty"];
  const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]));
  const optional = validatorOf({ type: "object", properties });
  expect(await optional({})).toEqual({});
  expect(await optional({ toString: 7 })).toMatchObject({ issues: [{ pointer: "/toString" }] });
  const required = validatorOf({ type: "object", properties, required: ["constructor"] });
  expect(await required({})).toMatchObject({ issues: [{ pointer: "/constructor", message: "is missing" }] });
  expect(await required({ constructor: "x" })).toEqual({ constructor: "x" });
});
