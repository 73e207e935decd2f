import type { JsonSchema } from "../../core/schema/types.ts";
import { digest } from "../../lib/canonical.ts";

/** What a provider is not told of a schema, or is told otherwise. */
export interface SchemaLoss {
  /** Where in the schema, as near as can be told: a JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly what: string;
}

/** A schema as a provider takes it. */
export interface Projection {
  readonly schema: JsonSchema;
  /** What the provider is not told; the tool's own schema still holds when it is called. */
  readonly lost: readonly SchemaLoss[];
  /** Makes what a model gave for this schema into an input for the schema it was made from. */
  restore(input: unknown): unknown;
}

/** Takes down what is lost, each thing once. */
export class Losses {
  readonly #found = new Map<string, SchemaLoss>();

  add(pointer: string, what: string): void {
    this.#found.set(`${pointer} ${what}`, Object.freeze({ pointer, what }));
  }

  /** In the order in which they were found. */
  all(): readonly SchemaLoss[] {
    return Object.freeze([...this.#found.values()]);
  }
}

/**
 * Remembers the projections of schemas: of the same schema, and of one with the same content, for as long as one of them is used.
 * Schemas are those of entries, which do not change.
 */
export function remembered<P extends Projection>(project: (schema: JsonSchema) => P): (schema: JsonSchema) => P {
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
      projection = project(schema);
      if (key !== undefined) {
        byContent.set(key, new WeakRef(projection));
        forget.register(projection, key);
      }
    }
    bySchema.set(schema, projection);
    return projection;
  };
}

/** None for what cannot be written as JSON. */
function keyOf(schema: JsonSchema): string | undefined {
  try {
    return digest(schema);
  } catch {
    return undefined;
  }
}
