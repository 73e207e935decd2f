import { toPattern } from "../../core/schema/check.ts";
import { isOfType } from "../../core/schema/type.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { resolveReference } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";

const maxDepth = 10;

/**
 * Why a value does not fit a schema, as far as its plain keywords say; what only a validator can tell counts as fitting. Reading a
 * prompt loads no validator: that takes longer than reading a folder of them.
 */
export function findMisfit(value: unknown, schema: unknown, root: JsonSchema, depth = 0): string | undefined {
  if (!isRecord(schema) || depth > maxDepth) return undefined;
  const inner = (part: unknown, partSchema: unknown) => findMisfit(part, partSchema, root, depth + 1);
  return (
    misfitOfValue(value, schema) ??
    misfitOfText(value, schema) ??
    misfitOfNumber(value, schema) ??
    misfitOfList(value, schema, inner) ??
    misfitOfObject(value, schema, inner) ??
    misfitOfChoice(value, schema, inner) ??
    (typeof schema.$ref === "string" && schema.$ref.startsWith("#")
      ? inner(value, resolveReference(root, schema.$ref))
      : undefined)
  );
}

type Inner = (value: unknown, schema: unknown) => string | undefined;

function misfitOfValue(value: unknown, schema: JsonSchema): string | undefined {
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return `must be ${types.join(" or ")}`;
  const same = (other: unknown) => canonicalJson(other) === canonicalJson(value);
  if (Array.isArray(schema.enum) && !schema.enum.some(same)) {
    return `must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`;
  }
  return Object.hasOwn(schema, "const") && !same(schema.const) ? `must be ${JSON.stringify(schema.const)}` : undefined;
}

function misfitOfText(value: unknown, schema: JsonSchema): string | undefined {
  if (typeof value !== "string") return undefined;
  const { length } = [...value];
  const pattern = typeof schema.pattern === "string" ? toPattern(schema.pattern) : undefined;
  if (pattern?.test(value) === false) return `must match ${schema.pattern}`;
  return misfitOfCount(length, schema, "Length", "characters");
}

/** `minLength`, `maxItems` and their like. */
function misfitOfCount(count: number, schema: JsonSchema, keyword: string, what: string): string | undefined {
  const least = schema[`min${keyword}`];
  const most = schema[`max${keyword}`];
  if (typeof least === "number" && count < least) return `must have at least ${least} ${what}`;
  return typeof most === "number" && count > most ? `must have at most ${most} ${what}` : undefined;
}

function misfitOfNumber(value: unknown, schema: JsonSchema): string | undefined {
  if (typeof value !== "number") return undefined;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof minimum === "number" && value < minimum) return `must be at least ${minimum}`;
  if (typeof maximum === "number" && value > maximum) return `must be at most ${maximum}`;
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) return `must be above ${exclusiveMinimum}`;
  return typeof exclusiveMaximum === "number" && value >= exclusiveMaximum
    ? `must be below ${exclusiveMaximum}`
    : undefined;
}

function misfitOfList(value: unknown, schema: JsonSchema, inner: Inner): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const count = misfitOfCount(value.length, schema, "Items", "entries");
  if (count !== undefined) return count;
  // Beside prefixItems, items speaks of the others.
  if (!isRecord(schema.items) || schema.prefixItems !== undefined) return undefined;
  const index = value.findIndex((entry) => inner(entry, schema.items) !== undefined);
  return index === -1 ? undefined : `has an entry ${index} that ${inner(value[index], schema.items)}`;
}

function misfitOfObject(value: unknown, schema: JsonSchema, inner: Inner): string | undefined {
  if (!isRecord(value)) return undefined;
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const missing = required.find((name) => !Object.hasOwn(value, String(name)));
  if (missing !== undefined) return `has no ${JSON.stringify(missing)}`;
  for (const [name, property] of Object.entries(isRecord(schema.properties) ? schema.properties : {})) {
    const misfit = Object.hasOwn(value, name) ? inner(value[name], property) : undefined;
    if (misfit !== undefined) return `has a ${JSON.stringify(name)} that ${misfit}`;
  }
  return undefined;
}

function misfitOfChoice(value: unknown, schema: JsonSchema, inner: Inner): string | undefined {
  for (const part of Array.isArray(schema.allOf) ? schema.allOf : []) {
    const misfit = inner(value, part);
    if (misfit !== undefined) return misfit;
  }
  for (const choices of [schema.anyOf, schema.oneOf]) {
    if (!Array.isArray(choices) || choices.some((choice) => inner(value, choice) === undefined)) continue;
    return "fits none of the choices";
  }
  return undefined;
}
