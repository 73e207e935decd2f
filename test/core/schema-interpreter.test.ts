import { expect } from "vitest";
import { compile } from "../../src/core/schema/ajv.ts";
import { interpret } from "../../src/core/schema/interpreter/interpreter.ts";
import type { JsonSchema } from "../../src/core/schema/types.ts";
import { Violation } from "../../src/core/schema/violation.ts";
import { randomOf } from "../support/random.ts";
import { RandomSchemas } from "../support/random-schema.ts";
import { verifies } from "../support/verifies.ts";

type Verdict = true | "cannot be used" | readonly string[];

/** Gives the issues of a value, in any order; `true` where it fits. */
function verdictsOf(make: (schema: JsonSchema) => (value: unknown) => unknown, schema: JsonSchema) {
  const validate = made(make, schema);
  return (value: unknown): Verdict => {
    try {
      const result = validate(value);
      if (!(result instanceof Violation)) return true;
      return [...new Set(result.issues.map(({ pointer, message }) => `${pointer} ${message}`))].sort();
    } catch {
      return "cannot be used";
    }
  };
}

function made(make: (schema: JsonSchema) => (value: unknown) => unknown, schema: JsonSchema) {
  try {
    return make(schema);
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

const given = process.env.FC_SEED;
const seed = given === "random" ? Math.floor(Math.random() * 1e9) : Number(given ?? 20_261_122);

verifies(["I2", "M12"], `what is interpreted is what ajv says, issue by issue (seed ${seed})`, () => {
  const schemas = new RandomSchemas(randomOf(seed));
  let fitting = 0;
  let refused = 0;
  for (let round = 0; round < 600; round += 1) {
    const schema = schemas.document();
    const [byAjv, byUs] = [verdictsOf(compile, schema), verdictsOf(interpret, schema)];
    for (let each = 0; each < 8; each += 1) {
      const value = schemas.value();
      const wanted = byAjv(value);
      if (wanted === "cannot be used") continue;
      expect({ schema, value, found: byUs(value) }).toEqual({ schema, value, found: wanted });
      if (wanted === true) fitting += 1;
      else refused += 1;
    }
  }
  expect(Math.min(fitting, refused)).toBeGreaterThan(1_000);
});
