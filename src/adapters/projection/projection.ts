import { sizeOf } from "../../core/schema/size.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { digest } from "../../lib/canonical.ts";
import { StepBudget, StepsSpent } from "../../lib/step-budget.ts";

/** A part of a schema that a provider does not get, or gets in another form. */
export interface SchemaLoss {
  /** The place in the schema, as exact as it is known: a JSON pointer (RFC 6901). */
  readonly pointer: string;
  /** A predicate in words, such as "becomes anyOf". */
  readonly what: string;
}

/** A schema in the dialect of a provider. */
export interface Projection {
  readonly schema: JsonSchema;
  /** The parts that the provider does not get. A call is still validated against the original schema. */
  readonly lost: readonly SchemaLoss[];
  /** Turns an input for the projected schema into one for the original schema. */
  restore(input: unknown): unknown;
}

/** The steps that the projection of one schema may take: a schema written, or a value inside one merged with another. */
const maxSteps = 300_000;

/** The work of one projection: collects what is lost, each once, and counts the steps. */
export class Losses {
  readonly #budget = new StepBudget(maxSteps);
  readonly #found = new Map<string, SchemaLoss>();

  add(pointer: string, what: string): void {
    this.#found.set(`${pointer} ${what}`, Object.freeze({ pointer, what }));
  }

  /** @throws StepsSpent */
  take(steps: number): void {
    this.#budget.take(steps);
  }

  /**
   * Takes as many steps as there are values in some parts of a schema.
   *
   * @throws StepsSpent
   */
  takeFor(...parts: readonly unknown[]): void {
    for (const part of parts) this.#budget.take(sizeOf(part, maxSteps + 1));
  }

  /** In the order in which they were added. */
  all(): readonly SchemaLoss[] {
    return Object.freeze([...this.#found.values()]);
  }
}

/** The projection of a schema that takes too long to rewrite: any object. */
const anyObject: Projection = Object.freeze({
  schema: Object.freeze({ type: "object", properties: Object.freeze({}) }),
  lost: Object.freeze([
    Object.freeze({ pointer: "", what: `is left out: to rewrite it takes more than ${maxSteps} steps` }),
  ]),
  restore: (input: unknown) => input,
});

/**
 * Caches the projections of schemas, by identity and by content, for as long as a projection is in use. Schemas of entries never change.
 *
 * @param complete - adds to the projection of a schema that takes too long what only this kind has
 */
export function remembered<P extends Projection>(
  project: (schema: JsonSchema) => P,
  complete: (plain: Projection) => P,
): (schema: JsonSchema) => P {
  const bySchema = new WeakMap<JsonSchema, P>();
  const byContent = new Map<string, WeakRef<P>>();
  const forget = new FinalizationRegistry<string>((key) => {
    if (byContent.get(key)?.deref() === undefined) byContent.delete(key);
  });
  return (schema) => {
    const known = bySchema.get(schema);
    if (known !== undefined) return known;
    const key = keyOf(schema);
    let projection = key === undefined ? undefined : byContent.get(key)?.deref();
    if (projection === undefined) {
      projection = bounded(project, schema) ?? complete(anyObject);
      if (key !== undefined) {
        byContent.set(key, new WeakRef(projection));
        forget.register(projection, key);
      }
    }
    bySchema.set(schema, projection);
    return projection;
  };
}

/** Undefined where it takes too long. */
function bounded<P>(project: (schema: JsonSchema) => P, schema: JsonSchema): P | undefined {
  try {
    return project(schema);
  } catch (error) {
    if (error instanceof StepsSpent) return undefined;
    throw error;
  }
}

/** Undefined for a schema that JSON cannot hold. */
function keyOf(schema: JsonSchema): string | undefined {
  try {
    return digest(schema);
  } catch {
    return undefined;
  }
}
