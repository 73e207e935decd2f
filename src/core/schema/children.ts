import { pointerTo } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import type { JsonSchema } from "./types.ts";

/** Keywords whose value is an object of schemas. */
export const schemaMaps = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
/** Keywords whose value is a list of schemas; `items` may be one too. */
export const schemaLists = ["allOf", "anyOf", "oneOf", "prefixItems"];
/** Keywords whose value is a schema; `items` may be one too. */
export const schemaSingles =
  "additionalProperties unevaluatedProperties unevaluatedItems propertyNames contains not if then else".split(" ");

/** The schemas directly inside a schema, those of keywords that only draft-07 has included. */
export function* childrenOf(schema: JsonSchema): Iterable<unknown> {
  for (const keyword of mapsOfAllDrafts) if (isRecord(schema[keyword])) yield* Object.values(schema[keyword]);
  for (const keyword of schemaLists) if (Array.isArray(schema[keyword])) yield* schema[keyword];
  for (const keyword of singlesOfAllDrafts) if (schema[keyword] !== undefined) yield schema[keyword];
  if (Array.isArray(schema.items)) yield* schema.items;
}

const mapsOfAllDrafts = [...schemaMaps, "dependencies"];
const singlesOfAllDrafts = [...schemaSingles, "items", "additionalItems"];

const maps = new Set(schemaMaps);
const lists = new Set([...schemaLists, "items"]);
const singles = new Set([...schemaSingles, "items"]);

/** The schema with each schema directly inside it made into another. */
export function mapChildren(
  schema: JsonSchema,
  pointer: string,
  change: (child: unknown, pointer: string) => unknown,
): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      const at = pointerTo(pointer, keyword);
      if (maps.has(keyword) && isRecord(value)) {
        return [keyword, Object.fromEntries(Object.entries(value).map(([k, v]) => [k, change(v, pointerTo(at, k))]))];
      }
      if (lists.has(keyword) && Array.isArray(value)) {
        return [keyword, value.map((child, index) => change(child, pointerTo(at, index)))];
      }
      return [keyword, singles.has(keyword) ? change(value, at) : value];
    }),
  );
}
