import type { JsonSchema } from "../../core/schema/types.ts";
import { resolveReference } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";

/** What a reference within a document leads to; undefined where that is no schema. */
export function follow(root: JsonSchema, reference: unknown): JsonSchema | undefined {
  if (reference === "#") return root;
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
  const target = resolveReference(root, reference);
  if (target === true) return {};
  return isRecord(target) ? target : undefined;
}

/** A chain of references longer than this leads in a circle. */
const maxHops = 32;

/** The schema with what its `$ref` leads to in its place, what stands beside it included. */
export function followed(root: JsonSchema, schema: JsonSchema): JsonSchema {
  let result = schema;
  for (let hops = 0; hops < maxHops && result.$ref !== undefined; hops += 1) {
    const { $ref, ...beside } = result;
    result = { ...follow(root, $ref), ...beside };
  }
  const { $ref, ...rest } = result;
  return $ref === undefined ? result : rest;
}
