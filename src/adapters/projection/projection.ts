import type { JsonSchema } from "../../core/schema/types.ts";
import { digest } from "../../lib/canonical.ts";

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

/** Collects losses, each once. */
export class Losses {
  readonly #found = new Map<string, SchemaLoss>();

  add(pointer: string, what: string): void {
    this.#found.set(`${pointer} ${what}`, Object.freeze({ pointer, what }));
  }

  /** In the order in which they were added. */
  all(): readonly SchemaLoss[] {
    return Object.freeze([...this.#found.values()]);
  }
}

/**
 * Caches the projections of schemas, by identity and by content, for as long as a projection is in use. Schemas of entries never change.
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

/** Undefined for a schema that JSON cannot hold. */
function keyOf(schema: JsonSchema): string | undefined {
  try {
    return digest(schema);
  } catch {
    return undefined;
  }
}
