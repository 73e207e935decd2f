import { ToolkitError } from "../core/error.ts";
import { assertIdentifier, assertItemName, assertUri, isUri, userNamespace } from "../core/identifier.ts";
import { shown } from "../core/options.ts";
import type { ItemKey } from "./item-change.ts";
import { isPartialKey } from "./prompt-cache.ts";

/** No store keeps a longer key, in bytes of UTF-8. */
const maxUriBytes = 2_048;

/** What a key of `toolkit.user` names: the name of a prompt, the URI of a resource, or a ref. @throws ToolkitError `INVALID_INPUT` */
export function itemKey(key: unknown): ItemKey {
  if (typeof key !== "string" || key === "") {
    const message = `must be the name of a prompt, the URI of a resource or a ref, and is ${shown(key)}`;
    throw new ToolkitError("INVALID_INPUT", `The key ${message}.`, { issues: [{ pointer: "/key", message }] });
  }
  if (!isUri(key)) return { collection: "prompt", key: without(key, `${userNamespace}.`, "start") };
  return { collection: "resource", key: without(key, `#${userNamespace}`, "end") };
}

/** @throws ToolkitError `INVALID_NAME`, `RESERVED_NAME` */
export function assertPromptKey(name: unknown): asserts name is string {
  if (typeof name === "string" && isPartialKey(name)) assertIdentifier(name.slice(1), "partial behind its _");
  else assertItemName(name, "prompt");
}

/** @throws ToolkitError `INVALID_NAME` for what no store keeps under its own name */
export function assertStorableUri(uri: unknown): asserts uri is string {
  assertUri(uri);
  const problem = !uri.isWellFormed()
    ? "it has half a surrogate pair"
    : hasControl(uri)
      ? "it has a control character"
      : Buffer.byteLength(uri) > maxUriBytes
        ? `it has more than ${maxUriBytes} bytes`
        : undefined;
  if (problem === undefined) return;
  throw new ToolkitError("INVALID_NAME", `The URI ${shown(uri)} cannot be stored: ${problem}.`, {
    name: uri,
    allowed: "a URI with a scheme, without control characters",
  });
}

function hasControl(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}

function without(text: string, part: string, where: "start" | "end"): string {
  if (where === "start") return text.startsWith(part) ? text.slice(part.length) : text;
  return text.endsWith(part) ? text.slice(0, -part.length) : text;
}
