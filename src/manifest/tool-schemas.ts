import { ToolkitError } from "../core/error.ts";
import { schemaLists, schemaMaps, schemaSingles } from "../core/schema/children.ts";
import { toJsonSchema, toObjectSchema } from "../core/schema/json-schema.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import { decoded, pointerTo, resolveReference, stepsOf } from "../lib/pointer.ts";
import { isRecord } from "../lib/value.ts";
import type { ManifestTool } from "./manifest-port.ts";

/**
 * A schema of the tool; undefined where it says nothing.
 *
 * @throws ToolkitError `INVALID_MANIFEST` at its place in the file
 */
export function schemaAt({ spec, problem }: ManifestTool, direction: "input" | "output"): JsonSchema | undefined {
  const field = `${direction}_schema` as const;
  const schema = spec[field];
  if (schema === undefined || schema === true) return undefined;
  const at = (pointer: string) => ["spec", field, ...stepsOf(pointer)];
  const read = direction === "input" ? toObjectSchema : toJsonSchema;
  try {
    const document = read(schema, { what: field, direction });
    const circle = endlessReference(document);
    if (circle === undefined) return document;
    const what = `The ${field} refers to itself at ${circle}, for the same value: its check would never end.`;
    throw problem(at(circle), what, "Put what repeats under properties or items, or remove the reference.");
  } catch (cause) {
    if (!ToolkitError.is(cause, "INVALID_SCHEMA")) throw cause;
    throw problem(at(cause.details.pointer), cause.message, "", { cause });
  }
}

/** Keywords whose schemas are for the same value, and not for a part of it. */
const inPlace: ReadonlySet<string> = new Set("allOf anyOf oneOf not if then else dependentSchemas".split(" "));
/** Keywords whose schemas are for no value until something refers to them. */
const unused: ReadonlySet<string> = new Set(["$defs", "definitions"]);

/** A schema that another one has, or refers to. */
interface Part {
  readonly schema: unknown;
  readonly pointer: string;
  /** The pointer of the keyword that leads there. */
  readonly by: string;
  readonly isForSame: boolean;
}

/** The pointer of a keyword by which the check of one value comes back to the same schema without end. The document is a valid schema. */
function endlessReference(root: JsonSchema): string | undefined {
  const isOver = new Map<object, boolean>();
  const seen = new Map<object, string>([[root, ""]]);
  const circleFrom = (schema: object, pointer: string): string | undefined => {
    isOver.set(schema, false);
    for (const part of partsOf(schema, pointer, root)) {
      if (!isRecord(part.schema) || !part.isForSame) continue;
      const before = isOver.get(part.schema);
      const found = before === false ? part.by : before ? undefined : circleFrom(part.schema, part.pointer);
      if (found !== undefined) return found;
    }
    isOver.set(schema, true);
    return undefined;
  };
  // The loop comes to schemas that are added while it runs.
  for (const [schema, pointer] of seen) {
    const found = isOver.has(schema) ? undefined : circleFrom(schema, pointer);
    if (found !== undefined) return found;
    for (const part of partsOf(schema, pointer, root))
      if (isRecord(part.schema) && !seen.has(part.schema)) seen.set(part.schema, part.pointer);
  }
  return undefined;
}

function partsOf(schema: object, pointer: string, root: JsonSchema): readonly Part[] {
  return Object.entries(schema).flatMap(([keyword, value]: [string, unknown]): readonly Part[] => {
    if (unused.has(keyword)) return [];
    const by = pointerTo(pointer, keyword);
    if (keyword === "$ref" && typeof value === "string" && /^#(?:\/|$)/.test(value))
      return [{ schema: resolveReference(root, value), pointer: decoded(value.slice(1)), by, isForSame: true }];
    const isForSame = inPlace.has(keyword);
    const entries = (steps: Iterable<readonly [string | number, unknown]>) =>
      [...steps].map(([step, each]) => ({ schema: each, pointer: pointerTo(by, step), by, isForSame }));
    if (schemaMaps.includes(keyword) && isRecord(value)) return entries(Object.entries(value));
    if (Array.isArray(value))
      return schemaLists.includes(keyword) || keyword === "items" ? entries(value.entries()) : [];
    const isSchema = schemaSingles.includes(keyword) || keyword === "items";
    return isSchema ? [{ schema: value, pointer: by, by, isForSame }] : [];
  });
}
