import { resolveReference } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import { childrenOf } from "./children.ts";
import { sizeOf } from "./interpreter/validation-work.ts";
import type { JsonSchema } from "./types.ts";

/** Keywords whose cost in ajv is not known beforehand, or that mean something else there. */
const oddKeywords =
  "$async $anchor $dynamicAnchor $dynamicRef $recursiveAnchor $recursiveRef unevaluatedProperties unevaluatedItems id".split(
    " ",
  );
/** The steps it takes to compare a value with others. */
const comparison = 50;

/**
 * The most steps that ajv takes for each value inside a value, and a measure of the time it takes to compile the schema: the number of
 * schemas, names and choices, references replaced by what they lead to. Infinite for a schema that contains itself, and for one with a
 * keyword of which this does not hold.
 *
 * @param options - `max`: where counting ends; `patterns`: whether patterns are trusted to take no longer than their text
 */
export function plainCost(root: JsonSchema, options: { readonly max: number; readonly patterns: boolean }): number {
  const { max, patterns } = options;
  const around = new Set<unknown>();
  let cost = 0;
  const add = (schema: unknown): void => {
    cost += 1;
    if (!isRecord(schema) || cost > max) return;
    const names = namesIn(schema);
    cost += names.length + sizeOf([schema.enum, schema.const], max) + (schema.uniqueItems === true ? comparison : 0);
    if (cost > max) return;
    const isPlain = !around.has(schema) && !isOdd(schema, schema === root, patterns) && !names.some(isInherited);
    if (!isPlain) cost = Number.POSITIVE_INFINITY;
    around.add(schema);
    for (const child of childrenOf(schema)) if (cost <= max) add(child);
    if (typeof schema.$ref === "string" && cost <= max) add(resolveReference(root, schema.$ref));
    around.delete(schema);
  };
  add(root);
  return cost;
}

function isOdd(schema: JsonSchema, isRoot: boolean, patterns: boolean): boolean {
  const { $id, $ref, type, nullable, format, exclusiveMinimum, exclusiveMaximum } = schema;
  return (
    oddKeywords.some((keyword) => Object.hasOwn(schema, keyword)) ||
    (!patterns && (schema.pattern !== undefined || schema.patternProperties !== undefined)) ||
    ($id !== undefined && !isRoot) ||
    ($ref !== undefined && !String($ref).startsWith("#/")) ||
    (nullable !== undefined && (type === undefined || nullable === false)) ||
    typeof exclusiveMinimum === "boolean" ||
    typeof exclusiveMaximum === "boolean" ||
    isInherited(String(format))
  );
}

/** Every object has a member of such a name, which ajv would take for one of the value. */
function isInherited(name: string): boolean {
  return name in Object.prototype;
}

function namesIn({ properties, required, dependentRequired, dependentSchemas, dependencies }: JsonSchema): string[] {
  const maps = [properties, dependentSchemas, dependencies, dependentRequired].filter(isRecord);
  const lists = [required, ...maps.flatMap((map) => Object.values(map))].filter(Array.isArray);
  return [...maps.flatMap((map) => Object.keys(map)), ...lists.flat().map(String)];
}
