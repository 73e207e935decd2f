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
const maxCopiedDepth = 64;
/** The most members and characters of a value that is copied: one that has a part many times over grows without bound, but as text. */
const maxCopied = 1_000_000;

/**
 * A copy of a JSON value, equal to `JSON.parse(JSON.stringify(value))` to every reader of JSON. Undefined for a value
 * whose text says more than its members do, such as a Date or another object with a `toJSON`, and for what JSON does not hold.
 */
export function copyOfJson(value: unknown): unknown {
  try {
    return new JsonCopy().of(value, 0);
  } catch {
    // A getter that throws: the text says where.
    return undefined;
  }
}

class JsonCopy {
  #left = maxCopied;

  /** Undefined where the text has to decide. */
  of(value: unknown, depth: number): unknown {
    switch (typeof value) {
      case "string":
        this.#left -= value.length;
        return value;
      case "boolean":
        return value;
      case "number":
        // JSON has no negative zero.
        return Number.isFinite(value) ? value + 0 : null;
      case "object":
        if (value === null) return null;
        if (depth === maxCopiedDepth || (value as { toJSON?: unknown }).toJSON !== undefined) return undefined;
        return Array.isArray(value) ? this.#ofList(value, depth + 1) : this.#ofObject(value, depth + 1);
      default:
        return undefined;
    }
  }

  #ofList(list: readonly unknown[], depth: number): unknown {
    this.#left -= list.length;
    const copy: unknown[] = [];
    // By index: a hole is null in JSON, as what is undefined.
    for (let at = 0; at < list.length && this.#left >= 0; at++) {
      const member = list[at];
      const copied = member === undefined ? null : this.of(member, depth);
      if (copied === undefined) return undefined;
      copy.push(copied);
    }
    return this.#left < 0 ? undefined : copy;
  }

  #ofObject(object: object, depth: number): unknown {
    const prototype = Object.getPrototypeOf(object);
    if (prototype !== Object.prototype && prototype !== null) return undefined;
    const copy: Record<string, unknown> = {};
    // Faster than any list of keys.
    for (const key in object) {
      if (!Object.hasOwn(object, key)) continue;
      const member = (object as Record<string, unknown>)[key];
      if (member === undefined) continue;
      this.#left -= 1;
      const copied = this.of(member, depth);
      // To set that one would set the prototype.
      if (copied === undefined || this.#left < 0 || key === "__proto__") return undefined;
      copy[key] = copied;
    }
    return copy;
  }
}
