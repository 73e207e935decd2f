import { isRecord } from "../../lib/value.ts";
import { sizeOf } from "./size.ts";
import type { JsonSchema } from "./types.ts";

/** A larger schema compiles to too much code. In values, see `sizeOf`. */
const maxSize = 300;
const maxDepth = 20;

type Visit = (schema: unknown, depth: number) => boolean;

/** Keywords that look at each part of a value once, with the schemas in them. */
const keywords: Readonly<Record<string, (value: unknown, depth: number, visit: Visit) => boolean>> = {
  type: (value) =>
    typeof value === "string" || (Array.isArray(value) && value.every((each) => typeof each === "string")),
  properties: (value, depth, visit) => isRecord(value) && Object.values(value).every((each) => visit(each, depth)),
  items: (value, depth, visit) => isRecord(value) && visit(value, depth),
  required: (value) => Array.isArray(value) && value.every((each) => typeof each === "string"),
  additionalProperties: (value) => typeof value === "boolean",
  enum: (value) => Array.isArray(value) && value.length > 0 && value.every((each) => typeof each !== "object"),
  const: (value) => typeof value !== "object",
  minimum: Number.isFinite,
  maximum: Number.isFinite,
  exclusiveMinimum: Number.isFinite,
  exclusiveMaximum: Number.isFinite,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  title: isText,
  description: isText,
  multipleOf: (value) => Number.isFinite(value) && (value as number) > 0,
  deprecated: () => true,
  readOnly: () => true,
  writeOnly: () => true,
  default: () => true,
  examples: () => true,
  $comment: isText,
  $schema: isText,
};

/**
 * True for a schema of the usual form of a tool: small, without references, choices, patterns and formats. Whoever wrote it, a test that is
 * made of it takes time that grows with the value and no faster.
 */
export function isUsualSchema(schema: JsonSchema): boolean {
  const visit: Visit = (each, depth) =>
    isRecord(each) &&
    depth < maxDepth &&
    Object.entries(each).every(
      ([keyword, value]) => Object.hasOwn(keywords, keyword) && keywords[keyword]?.(value, depth + 1, visit) === true,
    );
  return sizeOf(schema, maxSize + 1) <= maxSize && visit(schema, 0);
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

function isText(value: unknown): boolean {
  return typeof value === "string";
}
