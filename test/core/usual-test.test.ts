import { describe, expect, test, vi } from "vitest";
import { compile } from "../../src/core/schema/ajv.ts";
import type { JsonSchema } from "../../src/core/schema/types.ts";
import { usualTest } from "../../src/core/schema/usual-test.ts";
import { validatorOf } from "../../src/core/schema/validator.ts";
import { Violation } from "../../src/core/schema/violation.ts";
import { randomOf } from "../support/random.ts";
import { RandomSchemas } from "../support/random-schema.ts";
import { verifies } from "../support/verifies.ts";

const given = process.env.FC_SEED;
const seed = given === "random" ? Math.floor(Math.random() * 1e9) : Number(given ?? 20_261_122);

/** The keywords of the usual form, with values that a random schema has for them. */
const keywords: ReadonlySet<string> = new Set(
  (
    "type properties items required additionalProperties enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf " +
    "minLength maxLength minItems maxItems $schema"
  ).split(" "),
);

/** The rest of a schema without the keywords and names that make it unusual. */
function usual(schema: JsonSchema): JsonSchema {
  const kept = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
    if (!keywords.has(keyword)) return [];
    if (keyword === "additionalProperties") return [[keyword, value === true]];
    if (keyword === "items") return typeof value === "object" ? [[keyword, usual(value as JsonSchema)]] : [];
    if (keyword === "const") return typeof value === "object" ? [] : [[keyword, value]];
    if (keyword === "required") return [[keyword, (value as string[]).map(plain)]];
    if (keyword === "enum") return [[keyword, ["a", 1, ...(value as unknown[]).filter(isSimple)].filter(isFirst)]];
    if (keyword !== "properties") return [[keyword, value]];
    const members = Object.entries(value as Record<string, JsonSchema>);
    return [[keyword, Object.fromEntries(members.map(([name, each]) => [plain(name), usual(each)]))]];
  });
  return Object.fromEntries(kept);
}

const plain = (name: string) => (name === "toString" ? "e" : name);
const isSimple = (value: unknown) => typeof value !== "object";
const isFirst = (value: unknown, at: number, all: unknown[]) => all.indexOf(value) === at;

verifies("I2", `a usual schema accepts what ajv accepts, without ajv (seed ${seed})`, () => {
  const schemas = new RandomSchemas(randomOf(seed));
  const found = { fits: 0, not: 0 };
  for (let round = 0; round < 400; round += 1) {
    const schema = usual(schemas.document());
    const [byAjv, byUs] = [compile(schema), usualTest(schema)];
    expect(byUs, JSON.stringify(schema)).toBeDefined();
    for (let each = 0; each < 10; each += 1) {
      const value = schemas.value();
      const fits = !(byAjv(value) instanceof Violation);
      expect({ schema, value, fits: byUs?.(value) }).toEqual({ schema, value, fits });
      found[fits ? "fits" : "not"] += 1;
    }
  }
  expect(Math.min(found.fits, found.not)).toBeGreaterThan(500);
});

describe("values that JSON has not", () => {
  const values = [
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -0,
    undefined,
    new Array(2),
    new Date(0),
    new Map(),
    1n,
    () => 1,
  ];
  const odd = [...values, { a: undefined }, { a: Number.NaN }, Object.create({ a: 1 }), JSON.parse('{"__proto__":1}')];
  test.each<JsonSchema>([
    ...["string", "number", "integer", "boolean", "null", "array", "object"].map((type) => ({ type })),
    { minimum: 1 },
    { exclusiveMaximum: 1, multipleOf: 1 },
    { enum: [0, "a"] },
    { const: 0 },
    { items: { type: "string" } },
    { required: ["a"] },
    { properties: { a: { type: "number" } } },
    { additionalProperties: false, properties: { a: {} } },
  ])("fit where they do for ajv: %j", (schema) => {
    const [byAjv, byUs] = [compile(schema), usualTest(schema)];
    expect(odd.map((value) => byUs?.(value))).toEqual(odd.map((value) => !(byAjv(value) instanceof Violation)));
  });
});

test.each<JsonSchema>([
  { type: "text" },
  { type: [] },
  { properties: { a: { type: "nothing" } } },
  { items: { type: "nothing" } },
  { required: ["toString"] },
  { properties: { constructor: {} } },
  { anyOf: [{ type: "string" }] },
  { pattern: "a" },
])("other schemas have no such test: %j", (schema) => {
  expect(usualTest(schema)).toBeUndefined();
});

test("a schema that very many values fit has the same verdicts before, while and after it is compiled", async () => {
  const validate = validatorOf({ type: "object", properties: { a: { type: "integer" } }, required: ["a"] });
  // The first that does not fit may have to wait for ajv.
  expect(await validate({})).toBeInstanceOf(Violation);
  for (let number = 0; number < 10_100; number += 1) {
    const value = { a: number };
    expect(validate(value)).toBe(value);
  }
  expect(validate({ a: 0.5 })).toBeInstanceOf(Violation);
  await vi.dynamicImportSettled();
  const value = { a: 1 };
  expect(validate(value)).toBe(value);
  expect(validate({ a: "1" })).toBeInstanceOf(Violation);
});
