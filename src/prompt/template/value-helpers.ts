import { ToolkitError } from "../../core/error.ts";
import { describeTag, type Rendering, type TagPlace } from "./rendering.ts";
import { FormatMistake, type FormattedKind, formatterOf, toTime } from "./value-formats.ts";

/** The arguments of a helper. */
export interface HelperCall {
  readonly values: readonly unknown[];
  /** Those that are given as `name=value`. */
  readonly named: Readonly<Record<string, unknown>>;
  /** The names of those that stand in the template as texts, and do not come from the input. */
  readonly written: ReadonlySet<string>;
  readonly run: Rendering;
  readonly at: TagPlace;
}

/** True for equal values, of which null and a missing one are one. Texts are counted: two long ones are compared to their ends. */
export function isSameValue(left: unknown, right: unknown, run: Rendering, at: TagPlace): boolean {
  if (typeof left === "string" && typeof right === "string" && left.length === right.length) run.work(left.length, at);
  return (left ?? undefined) === (right ?? undefined);
}

type Order = (left: number | string, right: number | string) => boolean;

/** Compares the order of two numbers, two texts or two dates. A missing value is in no order. */
export function compare(name: string, order: Order): (call: HelperCall) => boolean {
  return ({ values: [left, right], run, at }) => {
    if (left === undefined || left === null || right === undefined || right === null) return false;
    const [first, second] = [left, right].map((value) => (value instanceof Date ? value.getTime() : value));
    if (typeof first === "number" && typeof second === "number") return order(first, second);
    if (typeof first === "string" && typeof second === "string") {
      run.work(Math.min(first.length, second.length), at);
      return order(first, second);
    }
    throw unfit(at, `${name} cannot compare ${describe(left)} with ${describe(right)}: pass two numbers or two texts.`);
  };
}

/** A part of a text or a list, as `slice` of JavaScript: from a position to another, which may count from the end. */
export function slice({ values: [value, from, to], run, at }: HelperCall): unknown {
  for (const position of [from, to]) {
    if (position === undefined || Number.isSafeInteger(position)) continue;
    throw unfit(at, `slice takes whole numbers as positions, and this is ${describe(position)}.`);
  }
  const [start, end] = [from, to] as [number | undefined, number | undefined];
  if (Array.isArray(value)) {
    const part = value.slice(start, end);
    run.step(part.length, at);
    return part;
  }
  if (value === undefined || value === null) return undefined;
  if (typeof value !== "string") throw unfit(at, `slice takes a text or a list, and this is ${describe(value)}.`);
  const part = value.slice(start, end);
  run.work(part.length, at);
  // Half a character at an end would be no text.
  return part.replace(/^[\udc00-\udfff]|[\ud800-\udbff]$/g, "");
}

/** Steps of a call of Intl, and of making a formatter: it takes microseconds for one, and far more for the other. */
const callSteps = 20;
const formatterSteps = 2_000;

/** Writes a number or a date in a format. A missing value is written as nothing. */
export function formatted(kind: FormattedKind): (call: HelperCall) => string {
  const toNumber = kind === "number" ? numberOf : toTime;
  return ({ values: [value, format], named, run, at }) => {
    if (value === undefined || value === null || value === "") return "";
    const number = toNumber(value);
    if (number === undefined) {
      const wanted = kind === "number" ? "digits" : "a date such as 2026-11-22 or 2026-11-22T10:00:00Z";
      throw unfit(at, `${kind} cannot write ${describe(value)}: pass ${wanted}.`);
    }
    const [locale, currency, zone] = [named.locale, named.currency, named.zone].map(optional);
    try {
      const options = { format: optional(format), locale, currency, zone };
      const formatter = formatterOf(kind, options, () => run.step(formatterSteps, at));
      run.step(callSteps * formatter.calls, at);
      return formatter.write(number);
    } catch (error) {
      if (error instanceof FormatMistake) throw unfit(at, `${error.message} ${error.hint}`);
      throw error;
    }
  };
}

function optional(value: unknown): string | undefined {
  return value === undefined || value === null || value === "" ? undefined : String(value).slice(0, maxOption);
}

/** Longer than any format, in characters. */
const maxOption = 200;

function numberOf(value: unknown): number | undefined {
  if (typeof value === "number" || typeof value === "bigint") return Number(value);
  if (typeof value !== "string" || value.length > maxOption || !/^\s*[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?\s*$/i.test(value))
    return undefined;
  return Number(value);
}

function describe(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value);
  if (typeof value === "object") return Array.isArray(value) ? "a list" : "an object";
  return typeof value === "number" ? `the number ${value}` : String(value).slice(0, maxOption);
}

function unfit(at: TagPlace, what: string): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", `${describeTag(at)}: ${what}`, { issues: [{ pointer: "", message: what }] });
}
