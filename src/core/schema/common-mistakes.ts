import { isRecord } from "../../lib/value.ts";
import { isOfType } from "./type.ts";
import type { JsonSchema } from "./types.ts";

/** True for a value of a schema's type and among its choices: decided without looking inside. */
export function accepts(schema: JsonSchema, value: unknown): boolean {
  const choices = choicesOf(schema);
  if (choices !== undefined && !choices.includes(value) && !isComposite(value)) return false;
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
  return choices === undefined ? meant : meant.filter((one) => choices.includes(one) || isComposite(one));
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
    const [list] = jsonIn(value).filter(Array.isArray);
    if (list !== undefined) return [list];
    return isBrokenJson(value) ? [] : [[value]];
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
  let plain = plainChoices.get(choices);
  if (plain === undefined) {
    const texts = choices.filter((choice) => typeof choice === "string");
    plain = Map.groupBy(texts, plainText);
    plainChoices.set(choices, plain);
  }
  const same = plain.get(plainText(value)) ?? [];
  return same.length === 1 ? same : [];
}

/** The texts among choices without case and blanks. They are kept: a list may have as many values as its schema has choices. */
const plainChoices = new WeakMap<readonly unknown[], ReadonlyMap<string, readonly string[]>>();

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

/** The value whose JSON a text is, if none of its numbers is too long. */
function jsonIn(value: unknown): readonly unknown[] {
  if (typeof value !== "string" || !/^\s*[[{]/.test(value)) return [];
  let exact = true;
  try {
    const parsed: unknown = JSON.parse(value, (_key, each: unknown) => {
      if (typeof each === "number" && Math.abs(each) > Number.MAX_SAFE_INTEGER) exact = false;
      return each;
    });
    return exact ? [parsed] : [];
  } catch {
    return [];
  }
}

/** True for a text that began as a list or an object: to take it for a bare value would be a guess. */
function isBrokenJson(value: unknown): boolean {
  return typeof value === "string" && /^\s*[[{]/.test(value) && jsonIn(value).length === 0;
}
