import fc from "fast-check";
import { describe, expect } from "vitest";
import { googleProjection } from "../../../src/adapters/projection/google-schema.ts";
import { openAIProjection, openAIStrictProjection } from "../../../src/adapters/projection/openai-schema.ts";
import { anthropicProjection } from "../../../src/adapters/projection/plain-schema.ts";
import { compile } from "../../../src/core/schema/ajv.ts";
import { findSchemaProblem } from "../../../src/core/schema/check.ts";
import type { JsonSchema } from "../../../src/core/schema/types.ts";
import { Violation } from "../../../src/core/schema/violation.ts";
import { verifies } from "../../support/verifies.ts";
import { google, openAIStrict, plain } from "./grammars.ts";
import { schemas } from "./schemas.ts";
import { valuesOf } from "./values.ts";

const openAI = plain(/^/);
const anthropic = plain(/^[A-Za-z0-9_.-]{1,64}$/);
const refusedBy = (schema: JsonSchema) => {
  const strict = openAIStrictProjection(schema);
  return [
    ...(strict.strict ? openAIStrict : openAI)(strict.schema),
    ...openAI(openAIProjection(schema).schema),
    ...anthropic(anthropicProjection(schema).schema),
    ...google(googleProjection(schema).schema),
  ];
};

describe("projections", () => {
  verifies("T6", "of any schema every provider takes what it is given, and it is well formed", () => {
    fc.assert(
      fc.property(schemas, (schema) => {
        expect(refusedBy(schema)).toEqual([]);
        for (const project of [openAIProjection, openAIStrictProjection, anthropicProjection])
          expect(findSchemaProblem(project(schema).schema)).toBeUndefined();
      }),
      { numRuns: 1_000 },
    );
  });

  verifies(
    "T6",
    "what a model held to strict mode gives, with null for what it leaves out, fits the schema itself",
    () => {
      let told = 0;
      fc.assert(
        fc.property(schemas, fc.context(), (schema, context) => {
          const { strict, schema: projected, lost, restore } = openAIStrictProjection(schema);
          if (!strict || lost.length > 0) return;
          const validate = compile(schema);
          const obeys = compile(projected);
          for (const value of fc.sample(valuesOf(projected), { numRuns: 5, seed: 1 })) {
            // A value for format and pattern together is not among the values.
            if (obeys(value) instanceof Violation) continue;
            told += 1;
            context.log(JSON.stringify({ projected, value, restored: restore(value) }));
            expect(validate(restore(value))).not.toBeInstanceOf(Violation);
          }
        }),
        { numRuns: 1_000 },
      );
      expect(told).toBeGreaterThan(50);
    },
  );
});
