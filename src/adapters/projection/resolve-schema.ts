import type { JsonSchema } from "../../core/schema/types.ts";
import { listOf } from "../../core/schema/union-branches.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { resolveReference } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";
import type { Losses } from "./projection.ts";

/** The schema that a reference within a document points to; undefined where it points to none. */
export function follow(root: JsonSchema, reference: unknown): JsonSchema | undefined {
  if (reference === "#") return root;
  if (typeof reference !== "string" || !reference.startsWith("#/")) return undefined;
  const target = resolveReference(root, reference);
  if (target === true) return {};
  return isRecord(target) ? target : undefined;
}

/** A chain of references longer than this is circular. */
const maxHops = 32;

/** The schema with its `$ref` replaced by the target, merged with the keywords beside it. */
export function followed(root: JsonSchema, schema: JsonSchema, losses: Losses): JsonSchema {
  losses.take(1);
  let result = schema;
  for (let hops = 0; hops < maxHops && result.$ref !== undefined; hops += 1) {
    const { $ref, ...beside } = result;
    result = { ...follow(root, $ref), ...beside };
    losses.take(Object.keys(result).length);
  }
  const { $ref, ...rest } = result;
  return $ref === undefined ? result : rest;
}

/** The schema with its `$ref` replaced by what that leads to, once. */
export function followedOnce(root: JsonSchema, schema: unknown, losses: Losses): JsonSchema {
  if (!isRecord(schema)) return {};
  const { $ref, ...rest } = schema;
  const target = $ref === undefined ? schema : { ...follow(root, $ref), ...rest };
  losses.take(1 + Object.keys(target).length);
  return target;
}

/**
 * One schema that stands for the `allOf` of several. Undefined where no single schema can, such as for two patterns. The caller follows
 * references first.
 */
export function mergeAll(schemas: readonly JsonSchema[], losses: Losses): JsonSchema | undefined {
  let merged: JsonSchema | undefined = {};
  for (const schema of schemas) {
    losses.takeFor(merged, schema);
    merged = merged === undefined ? undefined : merge(merged, withChoices(schema));
  }
  return merged;
}

/** A constant is an enum of one value. */
function withChoices(schema: JsonSchema): JsonSchema {
  if (!Object.hasOwn(schema, "const")) return schema;
  const { const: only, ...rest } = schema;
  return { ...rest, enum: [only] };
}

type Joiner = (a: unknown, b: unknown) => unknown;

function merge(one: JsonSchema, other: JsonSchema): JsonSchema | undefined {
  const merged: Record<string, unknown> = { ...allowedBy(other, one) };
  for (const [keyword, value] of Object.entries(allowedBy(one, other))) {
    if (!Object.hasOwn(merged, keyword)) {
      merged[keyword] = value;
      continue;
    }
    if (canonicalJson(merged[keyword]) === canonicalJson(value)) continue;
    const joined = joiners[keyword]?.(merged[keyword], value);
    if (joined === undefined) return undefined;
    merged[keyword] = joined;
  }
  return merged;
}

/** A schema without the properties that a closed schema (`additionalProperties: false`) refuses. */
function allowedBy(closed: JsonSchema, schema: JsonSchema): JsonSchema {
  if (closed.additionalProperties !== false || !isRecord(schema.properties)) return schema;
  if (closed.patternProperties !== undefined) return schema;
  const own = isRecord(closed.properties) ? closed.properties : {};
  const kept = Object.entries(schema.properties).filter(([name]) => Object.hasOwn(own, name));
  return { ...schema, properties: Object.fromEntries(kept) };
}

const least: Joiner = (a, b) => Math.max(a as number, b as number);
const most: Joiner = (a, b) => Math.min(a as number, b as number);
const bothTexts: Joiner = (a, b) => `${a} ${b}`;
const first: Joiner = (a) => a ?? null;

const joiners: { readonly [keyword in string]?: Joiner } = {
  type: (a, b) => {
    const shared = types(a).filter((type) => types(b).includes(type));
    const common = shared.includes("number") ? shared.filter((type) => type !== "integer") : shared;
    return common.length === 0 ? undefined : common.length === 1 ? common[0] : common;
  },
  enum: (a, b) => {
    const allowed = new Set(listOf(b).map(canonicalJson));
    const common = listOf(a).filter((choice) => allowed.has(canonicalJson(choice)));
    return common.length === 0 ? undefined : common;
  },
  required: (a, b) => [...new Set([...listOf(a), ...listOf(b)])],
  properties: (a, b) => maps(a, b, (x, y) => ({ allOf: [x, y] })),
  $defs: (a, b) => maps(a, b, (x) => x),
  definitions: (a, b) => maps(a, b, (x) => x),
  allOf: (a, b) => [...listOf(a), ...listOf(b)],
  additionalProperties: (a, b) => (a === false || b === false ? false : a === true ? b : b === true ? a : undefined),
  items: (a, b) => ({ allOf: [a, b] }),
  description: bothTexts,
  title: first,
  default: first,
  examples: first,
  $comment: first,
  minimum: least,
  exclusiveMinimum: least,
  minLength: least,
  minItems: least,
  minProperties: least,
  maximum: most,
  exclusiveMaximum: most,
  maxLength: most,
  maxItems: most,
  maxProperties: most,
};

/** An integer is a number too. */
function types(value: unknown): readonly unknown[] {
  const named = Array.isArray(value) ? value : [value];
  return named.includes("number") ? [...named, "integer"] : named;
}

function maps(a: unknown, b: unknown, join: (x: unknown, y: unknown) => unknown): unknown {
  if (!isRecord(a) || !isRecord(b)) return undefined;
  const joined = Object.entries(b).map(([key, value]) => [key, Object.hasOwn(a, key) ? join(a[key], value) : value]);
  return { ...a, ...Object.fromEntries(joined) };
}
