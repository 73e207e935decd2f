import { jsonFault } from "../../lib/nesting.ts";
import { isRecord } from "../../lib/value.ts";
import { isOfType } from "./type.ts";
import type { JsonSchema } from "./types.ts";

/** True for a value of a schema's type and among its choices: decided without looking inside. */
export function accepts(schema: JsonSchema, value: unknown): boolean {
  const choices = choicesOf(schema);
  if (choices !== undefined && !isComposite(value) && !isChoice(choices, value)) return false;
  return schema.type === undefined || typesOf(schema).some((type) => isOfType(value, type));
}

/**
 * Candidates for a value in which a model made one of the common mistakes. Nothing is guessed that would lose information: a
 * number with more digits than a number holds stays a text.
 */
export function repairsOf(schema: JsonSchema, value: unknown): readonly unknown[] {
  const choices = choicesOf(schema);
  const meant = typesOf(schema).flatMap((type) => {
    // The choices themselves decide about blanks and case.
    if (type === "string") return choices === undefined ? [] : chosen(choices, value);
    return conversions[type]?.(value) ?? [];
  });
  return choices === undefined ? meant : meant.filter((one) => isComposite(one) || isChoice(choices, one));
}

function choicesOf(schema: JsonSchema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema.const];
  return Array.isArray(schema.enum) ? schema.enum : undefined;
}

function typesOf(schema: JsonSchema): readonly string[] {
  if (schema.type !== undefined) return [schema.type].flat().map(String);
  return [...new Set((choicesOf(schema) ?? []).map((choice) => (choice === null ? "null" : typeof choice)))];
}

function isComposite(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

type Conversion = (value: unknown) => readonly unknown[];

const conversions: { readonly [type in string]?: Conversion } = {
  number: (value) => numberIn(value),
  integer: (value) => numberIn(value).filter(Number.isInteger),
  boolean: (value) => {
    const meant = booleans.get(typeof value === "string" ? value.toLowerCase() : value);
    return meant === undefined ? [] : [meant];
  },
  object: (value) => jsonIn(value).filter(isRecord),
  array: (value) => {
    if (value === null || value === "" || Array.isArray(value)) return [];
    const found = jsonIn(value);
    const list = found.find(Array.isArray);
    if (list !== undefined) return [list];
    // A text that began as a list or an object: to take it for a bare value would be a guess.
    return found.length === 0 && beginsAsJson(value) ? [] : [[value]];
  },
};

const booleans: ReadonlyMap<unknown, boolean> = new Map<unknown, boolean>([
  ["true", true],
  ["yes", true],
  [1, true],
  ["1", true],
  ["false", false],
  ["no", false],
  [0, false],
  ["0", false],
]);

/** The one choice that is the same but for case and blanks around it. */
function chosen(choices: readonly unknown[], value: unknown): readonly unknown[] {
  if (typeof value !== "string") return [];
  const same = indexOf(choices).plain.get(plainText(value)) ?? [];
  return same.length === 1 ? same : [];
}

/** Fewer choices are found faster without an index. */
const minIndexed = 16;

function isChoice(choices: readonly unknown[], value: unknown): boolean {
  return choices.length < minIndexed ? choices.includes(value) : indexOf(choices).all.has(value);
}

interface ChoiceIndex {
  readonly all: ReadonlySet<unknown>;
  /** The texts by what they are without case and blanks. */
  readonly plain: ReadonlyMap<string, readonly string[]>;
}

/** Kept: a list may have as many values as its schema has choices. */
const indexes = new WeakMap<readonly unknown[], ChoiceIndex>();

function indexOf(choices: readonly unknown[]): ChoiceIndex {
  let index = indexes.get(choices);
  if (index === undefined) {
    const texts = choices.filter((choice) => typeof choice === "string");
    index = { all: new Set(choices), plain: Map.groupBy(texts, plainText) };
    indexes.set(choices, index);
  }
  return index;
}

function plainText(text: string): string {
  return text.trim().toLowerCase();
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The number a text is in JSON, if a number can hold all of it. */
function numberIn(value: unknown): readonly number[] {
  if (typeof value !== "string" || !jsonNumber.test(value)) return [];
  const number = Number(value);
  const digits = value
    .replace(/[eE].*$/, "")
    .replace(/[-.]/g, "")
    .replace(/^0+|0+$/g, "");
  if (!Number.isFinite(number) || (number === 0 && digits !== "")) return [];
  // Any 15 digits go into a number and come out the same.
  return digits.length <= 15 || (Number.isSafeInteger(number) && String(number) === value) ? [number] : [];
}

/** Levels of a value in a JSON text: as many as a validation goes through. */
const maxDepth = 1_000;

/** The value whose JSON a text is, if none of its numbers is too long. */
function jsonIn(value: unknown): readonly unknown[] {
  if (!beginsAsJson(value)) return [];
  try {
    const parsed: unknown = JSON.parse(value);
    // Most texts have no number that may be too long, and need no look at each value.
    return jsonFault(parsed, maxDepth) === undefined && (!longNumber.test(value) || isExact(parsed)) ? [parsed] : [];
  } catch {
    return [];
  }
}

const longNumber = /\d{16}|\d[eE]/;

function isExact(value: unknown): boolean {
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return !isComposite(value) || Object.values(value as object).every(isExact);
}

function beginsAsJson(value: unknown): value is string {
  return typeof value === "string" && /^\s*[[{]/.test(value);
}
