import { messageOf, ToolkitError } from "../../core/error.ts";
import type { Rendering, TagPlace } from "./rendering.ts";
import { isEmpty, propertyOf } from "./template-values.ts";
import { compare, formatted, type HelperCall, isSameValue, slice } from "./value-helpers.ts";

/** Every helper that gives a value or a text. Each counts the work it does. */
export const helperFunctions: Readonly<Record<string, (call: HelperCall) => unknown>> = {
  json: ({ values: [value], named: { indent }, run, at }) =>
    toJsonText(value, run, at, typeof indent === "number" ? indent : 0),
  default: ({ values: [fallback, value] }) =>
    value === undefined || value === null || value === "" ? fallback : value,
  join: ({ values: [list, separator], run, at }) => join(list, separator, run, at),
  upper: (call) => textOf(call).toUpperCase(),
  lower: (call) => textOf(call).toLowerCase(),
  trim: (call) => textOf(call).trim(),
  lookup: ({ values: [holder, name], run, at }) => (holder ? propertyOf(holder, keyOf(name, run, at)) : holder),
  eq: ({ values: [value, ...others], run, at }) => others.some((other) => isSameValue(value, other, run, at)),
  ne: ({ values: [value, other], run, at }) => !isSameValue(value, other, run, at),
  lt: compare("lt", (left, right) => left < right),
  le: compare("le", (left, right) => left <= right),
  gt: compare("gt", (left, right) => left > right),
  ge: compare("ge", (left, right) => left >= right),
  not: ({ values: [value] }) => isNo(value),
  number: formatted("number"),
  date: formatted("date"),
  slice,
  role: ({ values: [role], run, at }) => run.mark({ role: toText(role, run, at) }),
  media: ({ named: { url, contentType }, written, run, at }) => {
    const [file, mediaType] = [toText(url, run, at), toText(contentType, run, at)];
    run.work(file.length + mediaType.length, at);
    return run.mark({ url: file, isWritten: written.has("url"), mediaType: mediaType === "" ? undefined : mediaType });
  },
};

/** `and` and `or`: the first value that decides, or the last. Those behind it are not computed. */
export const choices: Readonly<Record<string, (value: unknown) => boolean>> = {
  and: isNo,
  or: (value) => !isNo(value),
};

/** True for a value that `{{#if}}` takes for no. */
function isNo(value: unknown): boolean {
  return isEmpty(value) || value === 0;
}

/** The text of the one argument of a helper that looks at each character. */
function textOf({ values: [value], run, at }: HelperCall): string {
  const text = toText(value, run, at);
  run.work(text.length, at);
  return text;
}

function join(list: unknown, separator: unknown, run: Rendering, at: TagPlace): string {
  if (!Array.isArray(list)) return toText(list, run, at);
  const between = toText(separator, run, at);
  let text = "";
  for (let index = 0; index < list.length; index += 1) {
    const entry = toText(list[index], run, at);
    run.step(1, at);
    run.work(between.length + entry.length, at);
    text += index === 0 ? entry : between + entry;
    run.assertLength(text.length, at);
  }
  return text;
}

/** The name of a property. A function or an object is the name of none. */
function keyOf(name: unknown, run: Rendering, at: TagPlace): string {
  if (typeof name !== "string") return typeof name === "object" || typeof name === "function" ? "" : String(name);
  run.work(name.length, at);
  return name;
}

/**
 * A value as a template writes it: text as it is, numbers and booleans in digits and words, lists and objects as JSON, nothing for
 * a missing value. Nothing for a function either: no code runs from a template.
 *
 * @throws ToolkitError `INVALID_INPUT` for a value that JSON cannot hold, `LIMIT_EXCEEDED`
 */
export function toText(value: unknown, run: Rendering, at: TagPlace): string {
  if (typeof value === "string") return value;
  if (value === null || value === undefined || typeof value === "function") return "";
  return typeof value === "object" ? toJsonText(value, run, at, 0) : String(value);
}

/** JSON.stringify takes a step of the stack for each level. */
const maxDepth = 1_000;

/** A value as JSON; `null` for a missing one. Its size is measured first: what partials are shown may hold one value many times. */
function toJsonText(value: unknown, run: Rendering, at: TagPlace, indent: number): string {
  if (typeof value === "object" && value !== null) measure(value, 0);
  let text: string;
  try {
    text = JSON.stringify(value, undefined, indent) ?? "null";
  } catch (cause) {
    throw unwritable(messageOf(cause), cause);
  }
  run.work(text.length, at);
  return text;

  /** Returns the least length of the JSON of a value, the blanks before it included. */
  function measure(part: unknown, depth: number): number {
    if (depth > maxDepth) throw unwritable(`it is nested deeper than ${maxDepth} levels, or contains itself`);
    run.step(1, at);
    let length = 1 + indent * depth;
    if (typeof part === "string") length += part.length;
    else if (Array.isArray(part)) for (const entry of part) length = added(length, measure(entry, depth + 1));
    else if (typeof part === "object" && part !== null && !hasToJson(part)) {
      for (const key of Object.keys(part)) {
        length = added(length, key.length + measure((part as Record<string, unknown>)[key], depth + 1));
      }
    }
    return length;
  }

  function added(length: number, more: number): number {
    run.assertLength(length + more, at);
    return length + more;
  }
}

function hasToJson(value: object): boolean {
  return typeof (value as { toJSON?: unknown }).toJSON === "function";
}

function unwritable(reason: string, cause?: unknown): ToolkitError<"INVALID_INPUT"> {
  const message = `cannot be written as JSON: ${reason}`;
  const issues = [{ pointer: "", message }];
  return new ToolkitError("INVALID_INPUT", `A value of the input ${message}`, { issues }, { cause });
}
