import fc from "fast-check";
import type { JsonSchema } from "../../../src/core/schema/types.ts";

const memberName = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("a", "b", "city", "per_page", "__proto__") },
  { weight: 1, arbitrary: fc.constantFrom("filter[id]", "$top", "@type", "a b", "日本", "9lives", "n".repeat(80), "") },
);
const text = fc.constantFrom("A day.", "How many.", "");
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 3 });
const fields = (shape: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<JsonSchema> =>
  fc.record(shape).map((found) => Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)));
const few = fc.nat({ max: 3 });

/** Schemas as people and generators write them: well formed, with every keyword that is common, references and recursion included. */
export const schemas: fc.Arbitrary<JsonSchema> = fc
  .letrec<{ schema: JsonSchema; object: JsonSchema }>((tie) => ({
    schema: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      fields({
        type: fc.constant("string"),
        description: maybe(text),
        minLength: maybe(few),
        format: maybe(fc.constantFrom("date-time", "uri", "uuid")),
        pattern: maybe(fc.constantFrom("^[a-z]*$", "^(?!x)")),
        default: maybe(fc.constant("x")),
      }),
      fields({ type: fc.constantFrom("number", "integer"), minimum: maybe(few), multipleOf: maybe(fc.constant(2)) }),
      fields({ type: fc.constantFrom("boolean", "null") }),
      fields({ enum: fc.constantFrom(["a", "b"], ["", "x"], [1, 2], ["a", 1, null]), title: maybe(text) }),
      fields({ const: fc.constantFrom("only", 7, null, true) }),
      fields({ type: fc.constantFrom(["string", "null"], ["number", "string"], ["string", "boolean", "null"]) }),
      fields({ $ref: fc.constantFrom("#/$defs/node", "#/$defs/leaf"), description: maybe(text) }),
      fc.constant({}),
      fields({
        type: fc.constant("array"),
        items: maybe(tie("schema")),
        minItems: maybe(few),
        uniqueItems: maybe(fc.boolean()),
      }),
      fields({ prefixItems: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
      fields({ anyOf: fc.array(tie("schema"), { minLength: 1, maxLength: 3 }), description: maybe(text) }),
      fields({ oneOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }) }),
      fields({ allOf: fc.array(tie("schema"), { minLength: 1, maxLength: 2 }), description: maybe(text) }),
      fields({ not: tie("schema") }),
      tie("object"),
    ),
    object: fc
      .tuple(
        fc.dictionary(memberName, tie("schema"), { maxKeys: 3 }),
        fc.nat({ max: 3 }),
        maybe(fc.oneof(fc.boolean(), tie("schema"))),
        maybe(text),
      )
      .map(([properties, required, additionalProperties, description]) => ({
        type: "object",
        properties,
        required: Object.keys(properties).slice(0, required),
        ...(additionalProperties === undefined ? {} : { additionalProperties }),
        ...(description === undefined ? {} : { description }),
      })),
  }))
  .object.chain((object) =>
    fc
      .record({
        anyOf: maybe(fc.constant([{ required: ["a"] }, { required: ["b"] }])),
        allOf: maybe(fc.constant([{ $ref: "#/$defs/node" }])),
      })
      .map((top) => ({
        ...object,
        ...Object.fromEntries(Object.entries(top).filter(([, value]) => value !== undefined)),
        $defs: {
          node: { type: "object", properties: { next: { $ref: "#/$defs/node" }, value: { type: "string" } } },
          leaf: { type: "string", enum: ["x", "y"] },
        },
      })),
  );
