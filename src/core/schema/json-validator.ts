import { compilePlain } from "./ajv.ts";
import { Interpreter } from "./interpreter/interpreter.ts";
import { type MeteredPattern, matchersOf } from "./interpreter/matchers.ts";
import { sizeOf } from "./interpreter/validation-work.ts";
import { plainCost } from "./plain-cost.ts";
import type { JsonSchema } from "./types.ts";

// Loaded at the first validation of a JSON Schema: ajv costs 30 ms to import.

/** The cost of the largest schema that ajv compiles; see `plainCost`. To compile it takes about 20 ms. */
const maxPlainCost = 300;
/** The most that ajv may have to do: the cost of the schema times the size of the value. It takes 200 ms at worst. */
const maxPlainWork = 100_000_000;

/**
 * Compiles a JSON Schema: draft-07 where its `$schema` says so, else 2020-12.
 *
 * ajv decides where its work is known to be bounded: for small schemas without recursion. The interpreter decides for all others, and finds
 * the issues of what does not fit. Both are given patterns and formats whose time is bounded.
 *
 * @param toPattern - compiles the patterns of a stranger; the platform's engine takes them where it is left out
 * @throws Error when a reference leads nowhere or a keyword cannot be compiled
 */
export function compile(
  schema: JsonSchema,
  toPattern?: (source: string) => MeteredPattern,
): (value: unknown) => unknown {
  const cost = plainCost(schema, { max: maxPlainCost, patterns: toPattern === undefined });
  let interpreter: Interpreter | undefined;
  const interpret = (value: unknown) => {
    interpreter ??= new Interpreter(schema, matchersOf(toPattern));
    return interpreter.validate(value);
  };
  if (cost > maxPlainCost) return interpret;
  const fits = compilePlain(schema);
  const maxSize = maxPlainWork / cost;
  return (value) => (sizeOf(value, maxSize) < maxSize && fits(value) ? value : interpret(value));
}
