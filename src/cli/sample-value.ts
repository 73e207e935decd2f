import type { JsonSchema } from "../core/schema/types.ts";
import { resolveReference } from "../lib/pointer.ts";
import { isRecord } from "../lib/value.ts";
import { findMismatch } from "../prompt/front-matter/schema-mismatch.ts";

/** Beyond it a list is empty and what is optional is left out: a schema may contain itself. */
const maxDepth = 6;

/** A value that fits a schema: an example it has, its default, its first choice, else the simplest of its type. */
export function sampleOf(schema: unknown): unknown {
  return sample(schema, isRecord(schema) ? schema : {}, "text", 0);
}

function sample(schema: unknown, root: JsonSchema, name: string, depth: number): unknown {
  if (!isRecord(schema)) return `(${name})`;
  const given = [
    ...(Array.isArray(schema.examples) ? schema.examples : []),
    ...own(schema, "default"),
    ...own(schema, "const"),
  ];
  const [fitting] = [...given, ...(Array.isArray(schema.enum) ? schema.enum : [])].filter(
    (value) => findMismatch(value, schema, root) === undefined,
  );
  if (fitting !== undefined) return fitting;
  if (typeof schema.$ref === "string" && depth <= 2 * maxDepth) {
    return sample(resolveReference(root, schema.$ref), root, name, depth + 1);
  }
  for (const choices of [schema.anyOf, schema.oneOf]) {
    if (!Array.isArray(choices)) continue;
    const values = choices.map((choice) =>
      sample({ ...schema, anyOf: undefined, oneOf: undefined, ...choice }, root, name, depth + 1),
    );
    return values.find((value) => findMismatch(value, schema, root) === undefined) ?? values[0];
  }
  if (Array.isArray(schema.allOf)) {
    const parts = schema.allOf.filter(isRecord);
    return sample(parts.reduce(merged, { ...schema, allOf: undefined }), root, name, depth + 1);
  }
  return ofType(schema, root, name, depth);
}

const own = (schema: JsonSchema, keyword: string) => (Object.hasOwn(schema, keyword) ? [schema[keyword]] : []);

function merged(schema: JsonSchema, part: JsonSchema): JsonSchema {
  const required = [schema.required, part.required].flatMap((names) => (Array.isArray(names) ? names : []));
  const properties = { ...(schema.properties ?? {}), ...(part.properties ?? {}) };
  return { ...schema, ...part, properties, required };
}

function ofType(schema: JsonSchema, root: JsonSchema, name: string, depth: number): unknown {
  switch ([schema.type].flat()[0] ?? guessedType(schema)) {
    case "object":
      return ofObject(schema, root, depth);
    case "array":
      return ofList(schema, root, name, depth);
    case "integer":
    case "number":
      return ofNumber(schema);
    case "boolean":
      return true;
    case "null":
      return null;
    default:
      return ofText(schema, name);
  }
}

function guessedType(schema: JsonSchema): string {
  if (schema.properties !== undefined) return "object";
  return schema.items === undefined ? "string" : "array";
}

function ofObject(schema: JsonSchema, root: JsonSchema, depth: number): unknown {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const required: readonly string[] = Array.isArray(schema.required) ? schema.required : [];
  const names = depth > maxDepth ? required : [...new Set([...Object.keys(properties), ...required])];
  return Object.fromEntries(names.map((each) => [each, sample(properties[each], root, each, depth + 1)]));
}

function ofList(schema: JsonSchema, root: JsonSchema, name: string, depth: number): unknown {
  const { items, prefixItems, minItems = 0, maxItems = 1 } = schema;
  const first: readonly unknown[] = Array.isArray(prefixItems) ? prefixItems : [];
  const wanted = Math.max(Number(minItems), depth > maxDepth ? 0 : Math.min(1, Number(maxItems)));
  const others = Math.max(0, Math.min(wanted, 100) - first.length);
  return [...first, ...Array.from({ length: others }, () => items)].map((item) => sample(item, root, name, depth + 1));
}

/** The simplest number within the bounds. */
function ofNumber(schema: JsonSchema): number {
  const step = Number(schema.multipleOf ?? 1);
  const least = Number(schema.minimum ?? schema.exclusiveMinimum);
  const most = Number(schema.maximum ?? schema.exclusiveMaximum);
  const [above, below] = [Math.ceil(least / step) * step, Math.floor(most / step) * step];
  const candidates = [step, 0, above, above + step, below, below - step, (least + most) / 2];
  return (
    candidates.find((value) => Number.isFinite(value) && findMismatch(value, schema, schema) === undefined) ?? step
  );
}

const formats: Readonly<Record<string, string>> = {
  date: "2030-01-31",
  time: "12:00:00Z",
  "date-time": "2030-01-31T12:00:00Z",
  duration: "P1D",
  email: "somebody@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  url: "https://example.com/",
  uuid: "00000000-0000-4000-8000-000000000000",
};

function ofText({ format, minLength = 0, maxLength }: JsonSchema, name: string): string {
  const text = (typeof format === "string" ? formats[format] : undefined) ?? `(${name})`;
  const padded = text.padEnd(Number(minLength), ".");
  return typeof maxLength === "number" ? padded.slice(0, maxLength) : padded;
}
