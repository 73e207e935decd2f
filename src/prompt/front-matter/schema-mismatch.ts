import { toLinearPattern } from "../../core/schema/linear-pattern.ts";
import { isOfType } from "../../core/schema/type.ts";
import type { JsonSchema } from "../../core/schema/types.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import { resolveReference } from "../../lib/pointer.ts";
import { isRecord } from "../../lib/value.ts";

const maxDepth = 10;

/** A character takes as many steps as its pattern is large; a pattern that would take more is left to the validator. */
const maxPatternSteps = 10_000_000;

/**
 * The work that is left for the defaults of one schema: a step is one schema that one value is compared with. What remains when there is
 * none left is found by the validator, at the first call.
 */
export class MismatchWork {
  #steps = 100_000;
  #patternSteps = maxPatternSteps;
  readonly #texts = new Map<unknown, string>();

  /** Takes a step. False where none is left. */
  step(): boolean {
    this.#steps -= 1;
    return this.#steps >= 0;
  }

  /** The canonical JSON of a value, made once. */
  textOf(value: unknown): string {
    let text = this.#texts.get(value);
    if (text === undefined) {
      text = canonicalJson(value);
      this.#texts.set(value, text);
    }
    return text;
  }

  /** False for a text that a pattern refuses. True also where only the validator can say. */
  mayMatch(pattern: string, text: string): boolean {
    try {
      const { size, test } = toLinearPattern(pattern);
      this.#patternSteps -= size * (text.length + 1);
      return this.#patternSteps < 0 || test(text);
    } catch {
      return true;
    }
  }
}

/**
 * The reason why a value does not match a schema, by its plain keywords; undefined for a match, and for a mismatch that only a
 * validator finds. Parsing a prompt loads no validator: that takes longer than reading a folder of prompts.
 */
export function findMismatch(
  value: unknown,
  schema: unknown,
  root: JsonSchema,
  work = new MismatchWork(),
  depth = 0,
): string | undefined {
  if (!isRecord(schema) || depth > maxDepth || !work.step()) return undefined;
  const inner = (part: unknown, partSchema: unknown) => findMismatch(part, partSchema, root, work, depth + 1);
  return (
    mismatchOfValue(value, schema, work) ??
    mismatchOfText(value, schema, work) ??
    mismatchOfNumber(value, schema) ??
    mismatchOfList(value, schema, inner) ??
    mismatchOfObject(value, schema, inner) ??
    mismatchOfChoice(value, schema, inner) ??
    (typeof schema.$ref === "string" && schema.$ref.startsWith("#")
      ? inner(value, resolveReference(root, schema.$ref))
      : undefined)
  );
}

type Inner = (value: unknown, schema: unknown) => string | undefined;

function mismatchOfValue(value: unknown, schema: JsonSchema, work: MismatchWork): string | undefined {
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return `must be ${types.join(" or ")}`;
  const same = (other: unknown) => work.step() && work.textOf(other) === work.textOf(value);
  if (Array.isArray(schema.enum) && !schema.enum.some(same)) {
    return `must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`;
  }
  return Object.hasOwn(schema, "const") && !same(schema.const) ? `must be ${JSON.stringify(schema.const)}` : undefined;
}

function mismatchOfText(value: unknown, schema: JsonSchema, work: MismatchWork): string | undefined {
  if (typeof value !== "string") return undefined;
  const { length } = [...value];
  if (typeof schema.pattern === "string" && !work.mayMatch(schema.pattern, value))
    return `must match ${schema.pattern}`;
  return mismatchOfCount(length, schema, "Length", "characters");
}

/** Checks `minLength`, `maxItems` and their like. */
function mismatchOfCount(count: number, schema: JsonSchema, keyword: string, what: string): string | undefined {
  const least = schema[`min${keyword}`];
  const most = schema[`max${keyword}`];
  if (typeof least === "number" && count < least) return `must have at least ${least} ${what}`;
  return typeof most === "number" && count > most ? `must have at most ${most} ${what}` : undefined;
}

function mismatchOfNumber(value: unknown, schema: JsonSchema): string | undefined {
  if (typeof value !== "number") return undefined;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema;
  if (typeof minimum === "number" && value < minimum) return `must be at least ${minimum}`;
  if (typeof maximum === "number" && value > maximum) return `must be at most ${maximum}`;
  if (typeof exclusiveMinimum === "number" && value <= exclusiveMinimum) return `must be above ${exclusiveMinimum}`;
  return typeof exclusiveMaximum === "number" && value >= exclusiveMaximum
    ? `must be below ${exclusiveMaximum}`
    : undefined;
}

function mismatchOfList(value: unknown, schema: JsonSchema, inner: Inner): string | undefined {
  if (!Array.isArray(value)) return undefined;
  const count = mismatchOfCount(value.length, schema, "Items", "entries");
  if (count !== undefined) return count;
  // Beside prefixItems, items is the schema of the other entries.
  if (!isRecord(schema.items) || schema.prefixItems !== undefined) return undefined;
  for (const [index, entry] of value.entries()) {
    const mismatch = inner(entry, schema.items);
    if (mismatch !== undefined) return `has an entry ${index} that ${mismatch}`;
  }
  return undefined;
}

function mismatchOfObject(value: unknown, schema: JsonSchema, inner: Inner): string | undefined {
  if (!isRecord(value)) return undefined;
  const required: readonly unknown[] = Array.isArray(schema.required) ? schema.required : [];
  const missing = required.find((name) => !Object.hasOwn(value, String(name)));
  if (missing !== undefined) return `has no ${JSON.stringify(missing)}`;
  for (const [name, property] of Object.entries(isRecord(schema.properties) ? schema.properties : {})) {
    const mismatch = Object.hasOwn(value, name) ? inner(value[name], property) : undefined;
    if (mismatch !== undefined) return `has a ${JSON.stringify(name)} that ${mismatch}`;
  }
  return undefined;
}

function mismatchOfChoice(value: unknown, schema: JsonSchema, inner: Inner): string | undefined {
  for (const part of Array.isArray(schema.allOf) ? schema.allOf : []) {
    const mismatch = inner(value, part);
    if (mismatch !== undefined) return mismatch;
  }
  for (const choices of [schema.anyOf, schema.oneOf]) {
    if (!Array.isArray(choices) || choices.some((choice) => inner(value, choice) === undefined)) continue;
    return "fits none of the choices";
  }
  return undefined;
}
