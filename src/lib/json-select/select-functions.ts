import type { StepBudget } from "../step-budget.ts";
import { ExpressionReference, InvalidSelection, isEqualJson, writeJson } from "./select-value.ts";

type Type = "any" | "number" | "string" | "boolean" | "list" | "object" | "expression" | "numbers" | "strings" | "null";

/** A function of JMESPath. */
interface SelectFunction {
  /** The types of each argument. */
  readonly takes: readonly (readonly Type[])[];
  /** The last argument may be repeated. */
  readonly isVariadic?: true;
  run(given: readonly unknown[], steps: StepBudget): unknown;
}

/**
 * Calls a function of JMESPath. The elements and characters that it touches are steps.
 *
 * @throws InvalidSelection for an unknown function, or arguments that it does not take; StepsSpent
 */
export function callFunction(name: string, given: readonly unknown[], steps: StepBudget): unknown {
  const called = functionOf(name);
  const { takes, isVariadic } = called;
  const isFew = given.length < takes.length || (isVariadic !== true && given.length > takes.length);
  if (isFew) throw new InvalidSelection(`calls ${name} with ${given.length} arguments, and it takes ${takes.length}`);
  for (const [at, argument] of given.entries()) {
    const types = takes[Math.min(at, takes.length - 1)] ?? [];
    if (typeof argument === "string" || Array.isArray(argument)) steps.take(argument.length);
    if (types.some((type) => isOf(type, argument))) continue;
    throw new InvalidSelection(
      `calls ${name} with ${typeOf(argument)} as argument ${at + 1}: it takes ${types.join(" or ")}`,
    );
  }
  return called.run(given, steps);
}

/** @throws InvalidSelection for the name of no function */
export function assertFunction(name: string): void {
  functionOf(name);
}

function functionOf(name: string): SelectFunction {
  const found = Object.hasOwn(functions, name) ? functions[name] : undefined;
  if (found !== undefined) return found;
  const known = Object.keys(functions).join(", ");
  throw new InvalidSelection(`calls ${name}, which is no function. There are ${known}`);
}

function isOf(type: Type, value: unknown): boolean {
  if (type === "numbers") return Array.isArray(value) && value.every((each) => typeof each === "number");
  if (type === "strings") return Array.isArray(value) && value.every((each) => typeof each === "string");
  return type === "any" ? !(value instanceof ExpressionReference) : typeOf(value) === type;
}

function typeOf(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (value instanceof ExpressionReference) return "expression";
  return Array.isArray(value) ? "list" : typeof value;
}

type Key = string | number;

function keysOf(list: readonly unknown[], { evaluate }: ExpressionReference): readonly Key[] {
  const keys = list.map(evaluate);
  const type = typeof keys[0];
  for (const key of keys) {
    if ((type === "string" || type === "number") && typeof key === type) continue;
    throw new InvalidSelection("orders by what is neither always a number nor always a text");
  }
  return keys as Key[];
}

/** The elements by their keys, lowest first; equal ones in their order. */
function sorted(list: readonly unknown[], keys: readonly Key[], steps: StepBudget): unknown[] {
  const order = list.map((element, at) => ({ element, key: keys[at] ?? 0 }));
  const cost = keys.reduce<number>((sum, key) => sum + 1 + (typeof key === "string" ? key.length : 0), 0);
  steps.take(Math.ceil(cost * Math.log2(list.length + 1)));
  return order.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0)).map(({ element }) => element);
}

/** The element with the highest key; with a sign of -1 the lowest. */
function best(list: readonly unknown[], keys: readonly Key[], sign: 1 | -1): unknown {
  let found = 0;
  for (const [at, key] of keys.entries()) {
    const most = keys[found] ?? key;
    if (sign === 1 ? key > most : key < most) found = at;
  }
  return list[found] ?? null;
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, each) => sum + each, 0);
}

function toNumber(value: unknown): number | null {
  if (typeof value === "number") return value;
  const number = typeof value === "string" && value.trim() !== "" ? Number(value) : Number.NaN;
  return Number.isFinite(number) ? number : null;
}

function contains(subject: string | readonly unknown[], wanted: unknown, steps: StepBudget): boolean {
  if (typeof subject === "string") return typeof wanted === "string" && subject.includes(wanted);
  return subject.some((element) => isEqualJson(element, wanted, steps));
}

function lengthOf(value: string | readonly unknown[] | object): number {
  if (typeof value === "string") return [...value].length;
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function membersOf(object: object, steps: StepBudget): [string, unknown][] {
  const members = Object.entries(object);
  steps.take(members.length);
  return members;
}

function joined(glue: string, texts: readonly string[], steps: StepBudget): string {
  const length = texts.reduce((sum, text) => sum + text.length + glue.length, 0);
  steps.take(length);
  return texts.join(glue);
}

function textOf(value: unknown, steps: StepBudget): string {
  return typeof value === "string" ? value : writeJson(value, steps);
}

/** A function whose arguments have the types that it takes. */
function define<A extends readonly unknown[]>(
  takes: SelectFunction["takes"],
  run: (given: A, steps: StepBudget) => unknown,
): SelectFunction {
  return { takes, run: run as SelectFunction["run"] };
}

type Ordered = readonly [readonly unknown[], ExpressionReference];

const number = [["number"]] as const;
const object = [["object"]] as const;
const keys = [["numbers", "strings"]] as const;
const ordered = [["list"], ["expression"]] as const;
const texts = [["string"], ["string"]] as const;

const functions: Readonly<Record<string, SelectFunction>> = {
  abs: define(number, ([value]: [number]) => Math.abs(value)),
  avg: define([["numbers"]], ([list]: [number[]]) => (list.length === 0 ? null : total(list) / list.length)),
  ceil: define(number, ([value]: [number]) => Math.ceil(value)),
  contains: define([["string", "list"], ["any"]], ([subject, wanted]: [string | unknown[], unknown], steps) =>
    contains(subject, wanted, steps),
  ),
  ends_with: define(texts, ([text, end]: [string, string]) => text.endsWith(end)),
  floor: define(number, ([value]: [number]) => Math.floor(value)),
  join: define([["string"], ["strings"]], ([glue, list]: [string, string[]], steps) => joined(glue, list, steps)),
  keys: define(object, ([value]: [object], steps) => membersOf(value, steps).map(([key]) => key)),
  length: define([["string", "list", "object"]], ([value]: [string | unknown[] | object]) => lengthOf(value)),
  map: define([["expression"], ["list"]], ([reference, list]: [ExpressionReference, unknown[]]) =>
    list.map(reference.evaluate),
  ),
  max: define(keys, ([list]: [Key[]]) => best(list, list, 1)),
  max_by: define(ordered, ([list, by]: Ordered) => best(list, keysOf(list, by), 1)),
  merge: {
    ...define(object, (given: object[], steps) => Object.fromEntries(given.flatMap((each) => membersOf(each, steps)))),
    isVariadic: true,
  },
  min: define(keys, ([list]: [Key[]]) => best(list, list, -1)),
  min_by: define(ordered, ([list, by]: Ordered) => best(list, keysOf(list, by), -1)),
  not_null: {
    ...define([["any"]], (given: unknown[]) => given.find((each) => each !== null && each !== undefined) ?? null),
    isVariadic: true,
  },
  reverse: define([["string", "list"]], ([value]: [string | unknown[]]) =>
    typeof value === "string" ? [...value].reverse().join("") : [...value].reverse(),
  ),
  sort: define(keys, ([list]: [Key[]], steps) => sorted(list, list, steps)),
  sort_by: define(ordered, ([list, by]: Ordered, steps) => sorted(list, keysOf(list, by), steps)),
  starts_with: define(texts, ([text, start]: [string, string]) => text.startsWith(start)),
  sum: define([["numbers"]], ([list]: [number[]]) => total(list)),
  to_array: define([["any"]], ([value]: [unknown]) => (Array.isArray(value) ? value : [value])),
  to_number: define([["any"]], ([value]: [unknown]) => toNumber(value)),
  to_string: define([["any"]], ([value]: [unknown], steps) => textOf(value, steps)),
  type: define([["any"]], ([value]: [unknown]) => (Array.isArray(value) ? "array" : typeOf(value))),
  values: define(object, ([value]: [object], steps) => membersOf(value, steps).map(([, member]) => member)),
};
