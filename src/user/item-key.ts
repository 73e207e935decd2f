import type { WantedItem } from "../catalog/namespace.ts";
import { ToolkitError } from "../core/error.ts";
import { assertIdentifier, assertItemName, assertUri, isIdentifier, isUri, userNamespace } from "../core/identifier.ts";
import { shown } from "../core/options.ts";

/** The collections of the namespace `user`. */
export type UserCollection = "prompt" | "resource";

/** The identity of an item among those of its owner. */
export interface ItemKey {
  readonly collection: UserCollection;
  readonly key: string;
}

/** The most bytes of a key that a store keeps, in UTF-8. */
const maxUriBytes = 2_048;

/** An item key as one text. */
export function idOf({ collection, key }: ItemKey): string {
  return `${collection} ${key}`;
}

/** True for the key of a partial, which is no prompt. */
export function isPartialKey(key: string): boolean {
  return key.startsWith("_");
}

/** Reads a key of `toolkit.user`: the name of a prompt, the URI of a resource, or a ref. @throws ToolkitError `INVALID_INPUT` */
export function parseItemKey(key: unknown): ItemKey {
  if (typeof key !== "string" || key === "") {
    const message = `must be the name of a prompt, the URI of a resource or a ref, and is ${shown(key)}`;
    throw new ToolkitError("INVALID_INPUT", `The key ${message}.`, { issues: [{ pointer: "/key", message }] });
  }
  const [prefix, suffix] = [`${userNamespace}.`, `#${userNamespace}`];
  return isUri(key)
    ? { collection: "resource", key: key.endsWith(suffix) ? key.slice(0, -suffix.length) : key }
    : { collection: "prompt", key: key.startsWith(prefix) ? key.slice(prefix.length) : key };
}

/** @throws ToolkitError `INVALID_NAME`, `RESERVED_NAME` */
export function assertPromptKey(name: unknown): asserts name is string {
  if (typeof name === "string" && isPartialKey(name)) assertIdentifier(name.slice(1), "partial behind its _");
  else assertItemName(name, "prompt");
}

/** @throws ToolkitError `INVALID_NAME` for a URI that cannot be the key of a record */
export function assertStorableUri(uri: unknown): asserts uri is string {
  assertUri(uri);
  const problem = problemOf(uri);
  if (problem === undefined) return;
  throw new ToolkitError("INVALID_NAME", `The URI ${shown(uri)} cannot be stored: ${problem}.`, {
    name: uri,
    allowed: "a URI with a scheme, without control characters",
  });
}

/** The reason a URI cannot be the key of a record. */
function problemOf(uri: string): string | undefined {
  if (!uri.isWellFormed()) return "it has half a surrogate pair";
  if (hasControl(uri)) return "it has a control character";
  return Buffer.byteLength(uri) > maxUriBytes ? `it has more than ${maxUriBytes} bytes` : undefined;
}

/** The item of an owner that a lookup may mean; undefined where none can have the key. */
export function wantedItem({ kinds, key: given = "" }: WantedItem): ItemKey | undefined {
  if (given === "") return undefined;
  const item = parseItemKey(given);
  const { collection, key } = item;
  const isPossible = collection === "prompt" ? isIdentifier(key) : isUri(key) && problemOf(key) === undefined;
  return isPossible && kinds.includes(collection) ? item : undefined;
}

/** True for a key that a prompt or a partial may have. */
export function isPromptKey(key: string): boolean {
  return isIdentifier(isPartialKey(key) ? key.slice(1) : key);
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}
