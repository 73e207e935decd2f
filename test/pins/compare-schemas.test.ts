import { expect } from "vitest";
import { interpret } from "../../src/core/schema/interpreter/interpreter.ts";
import type { JsonSchema } from "../../src/core/schema/types.ts";
import { Violation } from "../../src/core/schema/violation.ts";
import { StepBudget } from "../../src/lib/step-budget.ts";
import { isRecord } from "../../src/lib/value.ts";
import { compareSchemas } from "../../src/pins/compare-schemas.ts";
import { type Random, randomOf } from "../support/random.ts";
import { RandomSchemas } from "../support/random-schema.ts";
import { verifies } from "../support/verifies.ts";

const given = process.env.FC_SEED;
const seed = given === "random" ? Math.floor(Math.random() * 1e9) : Number(given ?? 20_261_122);

const compare = (before: object, after: object) =>
  compareSchemas(before as JsonSchema, after as JsonSchema, new StepBudget(1_000_000));
const effects = (before: object, after: object) =>
  compare(before, after).map(({ what, pointer }) => `${what} ${pointer}`);

/** True, false, or undefined where the schema cannot be used. */
function verdictsOf(schema: JsonSchema): (value: unknown) => boolean | undefined {
  try {
    const validate = interpret(schema);
    return (value) => {
      try {
        return !(validate(value) instanceof Violation);
      } catch {
        return undefined;
      }
    };
  } catch {
    return () => undefined;
  }
}

/** The value with the members of all objects in another order, and the lists that are sets. */
function shuffled(value: unknown, random: Random, at = ""): unknown {
  if (Array.isArray(value)) {
    const list = value.map((each) => shuffled(each, random));
    return ["required", "type", "anyOf", "allOf", "oneOf"].includes(at) ? list.sort(() => random() - 0.5) : list;
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).sort(() => random() - 0.5);
  return Object.fromEntries(entries.map(([key, each]) => [key, shuffled(each, random, key)]));
}

/** A copy in which one or two keywords are another schema's, or are gone. */
function changed(schema: JsonSchema, other: JsonSchema, random: Random): JsonSchema {
  const copy = structuredClone(schema) as Record<string, unknown>;
  const inside = (value: unknown): Record<string, unknown>[] => {
    if (Array.isArray(value)) return value.flatMap(inside);
    return isRecord(value) ? [value as Record<string, unknown>, ...Object.values(value).flatMap(inside)] : [];
  };
  const one = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)];
  for (let times = random() < 0.8 ? 1 : 2; times > 0; times -= 1) {
    const target = one(inside(copy)) ?? copy;
    const source = one(inside(other)) ?? {};
    const keyword = one(Object.keys(random() < 0.3 ? target : source));
    if (keyword === undefined || keyword === "$schema") continue;
    if (random() < 0.2) delete target[keyword];
    else target[keyword] = structuredClone(Object.hasOwn(source, keyword) ? source[keyword] : {});
  }
  return copy;
}

verifies("H9", `a schema that is written in another order has not changed (seed ${seed})`, () => {
  const random = randomOf(seed);
  const schemas = new RandomSchemas(random);
  for (let round = 0; round < 500; round += 1) {
    const schema = schemas.document();
    expect(compare(schema, shuffled(schema, random) as JsonSchema)).toEqual([]);
  }
});

verifies("H9", `a value that only one of two schemas takes shows in the effects (seed ${seed})`, () => {
  const random = randomOf(seed);
  const schemas = new RandomSchemas(random);
  let [more, less, exact] = [0, 0, 0];
  for (let round = 0; round < 2_500; round += 1) {
    const before = schemas.document();
    const after = random() < 0.05 ? schemas.document() : changed(before, schemas.document(), random);
    const found = new Set(compare(before, after).map(({ what }) => what));
    const [old, now] = [verdictsOf(before), verdictsOf(after)];
    for (let each = 0; each < 12; each += 1) {
      const value = schemas.value();
      const [was, is] = [old(value), now(value)];
      if (was === undefined || is === undefined || was === is) continue;
      const wanted = is ? "wider" : "narrower";
      expect({
        before,
        after,
        value,
        found: [...found],
        fits: found.has(wanted) || found.has("different"),
      }).toMatchObject({
        fits: true,
      });
      if (!found.has("different")) exact += 1;
      if (is) more += 1;
      else less += 1;
    }
  }
  expect(Math.min(more, less, exact)).toBeGreaterThan(40);
});

verifies("H9", "changes of a schema are found where they are, and say what they do", () => {
  const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
  const text = { type: "string" };
  const closed = { additionalProperties: false };
  const cases: readonly (readonly [before: object, after: object, found: readonly string[]])[] = [
    [object({ a: text }), object({ a: text, b: text }), ["different /properties/b"]],
    [object({ a: text }, closed), object({ a: text, b: text }, closed), ["wider /properties/b"]],
    [object({ a: text, b: text }, closed), object({ a: text }, closed), ["narrower /properties/b"]],
    [object({ a: text }), object({ a: { type: ["number", "string"] } }), ["wider /properties/a/type"]],
    [object({ a: { type: "number" } }), object({ a: { type: "integer" } }), ["narrower /properties/a/type"]],
    [object({ a: text }, { required: ["a"] }), object({ a: text }), ["wider /required"]],
    [{ enum: ["a", "b"] }, { enum: ["b", "c"] }, ["different /enum"]],
    [{ enum: ["a", "b"] }, { enum: ["b", "a", "c"] }, ["wider /enum"]],
    [{ maxLength: 5 }, { maxLength: 9 }, ["wider /maxLength"]],
    [{ minimum: 5 }, { minimum: 9 }, ["narrower /minimum"]],
    [{ not: { maxLength: 5 } }, { not: { maxLength: 9 } }, ["narrower /not/maxLength"]],
    [{ anyOf: [text] }, { anyOf: [{ type: "null" }, text] }, ["wider /anyOf/0"]],
    [{ anyOf: [text, { type: "null" }] }, { anyOf: [{ type: "null" }, text] }, []],
    [{ description: "a" }, { description: "b" }, ["description /description"]],
    [{ required: [], uniqueItems: false }, {}, []],
    [{ $ref: "#/$defs/a", $defs: { a: text } }, { $ref: "#/$defs/a", $defs: { a: {} } }, ["wider /$ref/type"]],
    [{ $ref: "#/$defs/a", $defs: { a: text } }, { ...text }, ["different "]],
    [{ default: 1 }, { default: 2 }, ["different /default"]],
    [{ "x-prompt": 1 }, { "x-prompt": 2 }, ["different /x-prompt"]],
    [{ $defs: { unused: text } }, { $defs: { unused: {} } }, ["different /$defs/unused/type"]],
    [{ items: { $ref: "#" }, maxItems: 3 }, { items: { $ref: "#" }, maxItems: 4 }, ["wider /maxItems"]],
  ];
  for (const [before, after, found] of cases)
    expect([before, after, effects(before, after)]).toEqual([before, after, found]);
});
