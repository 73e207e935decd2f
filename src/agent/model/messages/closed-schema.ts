import { isRecord } from "../../../lib/value.ts";
import type { Fields } from "../wire/wire-fields.ts";

/** The API refuses a schema with more, or takes minutes for its grammar. */
const maxOptional = 10;
const maxDepth = 64;

/** Keywords that are sent as they are. */
const plain: ReadonlySet<string> = new Set(["type", "title", "description", "enum", "const", "default"]);
/** Keywords that the API refuses, and that the answer is validated against here. The model reads them in the description. */
const described: ReadonlySet<string> = new Set([
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "pattern",
  "format",
  "minItems",
  "maxItems",
  "uniqueItems",
]);

/**
 * A schema in the form that the API keeps an answer to: each object is closed, and constraints are in the description. Undefined for a
 * schema that it would refuse, or that would lose answers, such as one with references or with objects of any names.
 */
export function closedSchema(schema: unknown): Fields | undefined {
  const count = { optional: 0 };
  const closed = closedIn(schema, count, 0);
  return count.optional > maxOptional ? undefined : closed;
}

function closedIn(schema: unknown, count: { optional: number }, depth: number): Fields | undefined {
  if (!isRecord(schema) || depth > maxDepth) return undefined;
  const result: Record<string, unknown> = {};
  const constraints: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    if (plain.has(name)) result[name] = value;
    else if (described.has(name)) constraints[name] = value;
    else if (name === "anyOf" || name === "items" || name === "properties") {
      const inner = closedInside(name, value, count, depth + 1);
      if (inner === undefined) return undefined;
      result[name] = inner;
    } else if (name === "required") result.required = value;
    // The place of the schema says nothing about an answer.
    else if (name !== "$schema" && name !== "$id" && !(name === "additionalProperties" && value === false))
      return undefined;
  }
  if (Object.keys(constraints).length > 0) {
    const text = JSON.stringify(constraints);
    result.description = typeof result.description === "string" ? `${result.description}\n${text}` : text;
  }
  const isObject = [schema.type].flat().includes("object") || schema.properties !== undefined;
  return isObject ? closedObject(schema, result, count) : result;
}

function closedObject(schema: Fields, result: Fields, count: { optional: number }): Fields | undefined {
  // An object of any names would be closed to an empty one.
  if (!isRecord(schema.properties)) return undefined;
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  count.optional += Object.keys(schema.properties).filter((name) => !required.includes(name)).length;
  return { ...result, additionalProperties: false };
}

function closedInside(name: string, value: unknown, count: { optional: number }, depth: number): unknown {
  if (name === "items") return closedIn(value, count, depth);
  if (name === "anyOf") {
    if (!Array.isArray(value)) return undefined;
    const all = value.map((each) => closedIn(each, count, depth));
    return all.includes(undefined) ? undefined : all;
  }
  if (!isRecord(value)) return undefined;
  const entries = Object.entries(value).map(([key, each]) => [key, closedIn(each, count, depth)] as const);
  return entries.some(([, each]) => each === undefined) ? undefined : Object.fromEntries(entries);
}
