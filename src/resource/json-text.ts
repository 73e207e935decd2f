import { messageOf, ToolkitError } from "../core/error.ts";
import type { Issue } from "../core/error-catalog.ts";
import { parseJson } from "../lib/nesting.ts";
import { pointerTo } from "../lib/pointer.ts";

/**
 * The JSON text of a value, as `JSON.stringify` writes it: members that are undefined or functions are left out, and NaN and
 * Infinity become null.
 *
 * @throws ToolkitError `INVALID_OUTPUT`, naming what JSON cannot hold and where: a BigInt, a cycle, a getter or `toJSON` that
 *   throws, or a value that is as a whole undefined, a function or a symbol
 */
export function toJsonText(value: unknown, name: string): string {
  let cause: unknown;
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) return text;
  } catch (error) {
    cause = error;
  }
  const issue = findObstacle(value, "", []) ?? {
    pointer: "",
    message: cause === undefined ? "its toJSON gives nothing" : messageOf(cause),
  };
  const where = issue.pointer === "" ? "the whole value" : `the value at ${issue.pointer}`;
  throw new ToolkitError(
    "INVALID_OUTPUT",
    `JSON cannot hold "${name}": ${where} ${issue.message}. Convert it first.`,
    { issues: [issue] },
    { cause },
  );
}

/** Parses the text of a resource. @throws ToolkitError `INVALID_OUTPUT` */
export function parseJsonText(text: string, name: string, mediaType: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    const message = text === "" ? "is empty, not JSON" : `is no JSON: ${messageOf(cause)}`;
    throw new ToolkitError(
      "INVALID_OUTPUT",
      `"${name}" (${mediaType}) ${message}. Read it with text().`,
      { issues: [{ pointer: "", message }] },
      { cause },
    );
  }
}

// Walks as JSON.stringify does, once that has failed: it does not say where.
function findObstacle(given: unknown, pointer: string, ancestors: readonly object[]): Issue | undefined {
  let value = given;
  try {
    const toJson = (value as { toJSON?: unknown } | null | undefined)?.toJSON;
    if (typeof toJson === "function") value = toJson.call(value, "");
  } catch (error) {
    return { pointer, message: `has a toJSON that throws: ${messageOf(error)}` };
  }
  if (typeof value === "bigint") return { pointer, message: "is a BigInt" };
  if (value === undefined || typeof value === "function" || typeof value === "symbol") {
    // Anywhere below, JSON.stringify leaves these out.
    return pointer === "" ? { pointer, message: `is ${value === undefined ? "" : "a "}${typeof value}` } : undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  if (ancestors.includes(value)) return { pointer, message: "refers back to a value it is part of (a cycle)" };
  if (ancestors.length > maxDepth) return { pointer, message: `is nested deeper than ${maxDepth} levels` };
  const inside = [...ancestors, value];
  for (const key of Object.keys(value)) {
    const at = pointerTo(pointer, key);
    let member: unknown;
    try {
      member = (value as Record<string, unknown>)[key];
    } catch (error) {
      return { pointer: at, message: `has a getter that throws: ${messageOf(error)}` };
    }
    const obstacle = findObstacle(member, at, inside);
    if (obstacle !== undefined) return obstacle;
  }
  return undefined;
}

const maxDepth = 1000;

// Deeper than this it is cheaper to parse than to worry about the stack.
const maxPlainDepth = 64;

/**
 * True for what JSON holds exactly: `JSON.parse(JSON.stringify(value))` would be its equal to every reader of JSON. Plain objects with
 * nothing hidden, dense arrays, strings, finite numbers, booleans, null.
 */
export function isPlainJson(value: unknown, depth = 0): boolean {
  switch (typeof value) {
    case "string":
    case "boolean":
      return true;
    case "number":
      return Number.isFinite(value);
    case "object":
      break;
    default:
      return false;
  }
  if (value === null) return true;
  if (depth > maxPlainDepth) return false;
  return Array.isArray(value) ? isPlainArray(value, depth + 1) : isPlainObject(value, depth + 1);
}

function isPlainArray(array: readonly unknown[], depth: number): boolean {
  if (Object.getPrototypeOf(array) !== Array.prototype || "toJSON" in array) return false;
  // By index: a hole reads as undefined.
  for (let at = 0; at < array.length; at++) if (!isPlainJson(array[at], depth)) return false;
  return true;
}

function isPlainObject(object: object, depth: number): boolean {
  const prototype = Object.getPrototypeOf(object);
  if (prototype !== Object.prototype && prototype !== null) return false;
  let seen = 0;
  // Faster than any list of keys; what is inherited makes the count differ. A toJSON of its own is a function among the members.
  for (const key in object) {
    seen++;
    if (!isPlainJson((object as Record<string, unknown>)[key], depth)) return false;
  }
  return seen === Object.getOwnPropertyNames(object).length;
}
