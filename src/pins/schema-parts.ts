import type { ContractEffect } from "../core/pin.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { resolveReference } from "../lib/pointer.ts";
import { isRecord } from "../lib/value.ts";

/** A schema that is no boolean. */
export type SchemaObject = Readonly<Record<string, unknown>>;

const maxReferences = 20;

/** Bounds: a larger one is narrower for a minimum, wider for a maximum. */
const minimums = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]);
const maximums = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]);
/** Each rules out values where it is there; with another value it rules out others. */
const restrictions = new Set(["const", "multipleOf", "pattern", "format", "contentEncoding", "contentMediaType"]);

/** Keywords without an effect on what is valid, which models read. */
export const schemaTexts: Readonly<Record<string, "title" | "description">> = {
  title: "title",
  description: "description",
  $comment: "description",
};

/** Schemas by name, before and after. */
export interface SchemaMaps {
  readonly before: SchemaObject;
  readonly after: SchemaObject;
}

/** The members of two keywords that hold schemas by name. */
export function mapsOf(before: unknown, after: unknown): SchemaMaps {
  return { before: isRecord(before) ? before : {}, after: isRecord(after) ? after : {} };
}

/** Always the same, so that what was compared with it is known to be. */
const anything: SchemaObject = Object.freeze({});

/** The schema as an object: one that is missing, or true, takes everything. Undefined for what is none. */
export function schemaOf(value: unknown): SchemaObject | undefined {
  if (value === undefined || value === true) return anything;
  return isRecord(value) ? value : undefined;
}

/** A member that the object itself has: names are a stranger's, such as `toString`. */
export function own(object: SchemaObject, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}

/** The names of the members of either. */
export function namesOf(before: SchemaObject, after: SchemaObject): readonly string[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])];
}

/** The schema that a reference within the document leads to. */
export function targetOf(document: SchemaObject, { $ref }: SchemaObject): unknown {
  return typeof $ref === "string" && /^#(?:\/|$)/.test($ref) ? resolveReference(document, $ref) : undefined;
}

/** The schema behind one that is a reference and nothing else; undefined where there is none. */
export function inlined(document: SchemaObject, schema: SchemaObject): SchemaObject | undefined {
  let found: unknown = schema;
  for (let count = 0; count < maxReferences; count += 1) {
    if (!isRecord(found)) return undefined;
    if (!Object.hasOwn(found, "$ref")) return found;
    if (Object.keys(found).some((name) => name !== "$ref" && !Object.hasOwn(schemaTexts, name))) return undefined;
    found = targetOf(document, found);
  }
  return undefined;
}

/** The effect of a keyword that has another value now. */
export function effectOf(name: string, before: unknown, after: unknown): ContractEffect {
  if (name === "type") return setEffect(typesOf(before), typesOf(after), "wider");
  if (name === "enum") return setEffect(textsOf(before), textsOf(after), "wider");
  if (name === "required") return setEffect(textsOf(before ?? []), textsOf(after ?? []), "narrower");
  if (name === "uniqueItems") return after === true ? "narrower" : "wider";
  if (minimums.has(name)) return boundEffect(before, after, "narrower");
  if (maximums.has(name)) return boundEffect(before, after, "wider");
  if (restrictions.has(name)) return before === undefined ? "narrower" : after === undefined ? "wider" : "different";
  return "different";
}

/** @param more - the effect of a larger bound */
function boundEffect(before: unknown, after: unknown, more: "wider" | "narrower"): ContractEffect {
  if ([before, after].some((bound) => bound !== undefined && typeof bound !== "number")) return "different";
  if (before === undefined) return "narrower";
  if (after === undefined) return "wider";
  return Number(after) > Number(before) === (more === "wider") ? "wider" : "narrower";
}

/** @param more - the effect of more members; a list that is not there takes everything */
function setEffect(
  before: ReadonlySet<string> | undefined | null,
  after: ReadonlySet<string> | undefined | null,
  more: "wider" | "narrower",
): ContractEffect {
  if (before === null || after === null) return "different";
  if (before === undefined) return "narrower";
  if (after === undefined) return "wider";
  if ([...before].every((each) => after.has(each))) return more;
  return [...after].every((each) => before.has(each)) ? (more === "wider" ? "narrower" : "wider") : "different";
}

/** The types, of which a number may be an integer; null for what is no list. */
function typesOf(value: unknown): ReadonlySet<string> | undefined | null {
  const found = textsOf(typeof value === "string" ? [value] : value);
  return found?.has('"number"') === true ? new Set([...found, '"integer"']) : found;
}

function textsOf(value: unknown): ReadonlySet<string> | undefined | null {
  if (value === undefined) return undefined;
  return Array.isArray(value) ? new Set(value.map(canonicalJson)) : null;
}
