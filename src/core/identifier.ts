import { messageOf, ToolkitError } from "./error.ts";
import { shown } from "./options.ts";

/** A letter, then up to 63 letters, digits, `_` or `-`. */
const identifier = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/;
const allowed = "a letter, then up to 63 letters, digits, _ or -";

/** The form MCP gives the names of tools. */
const mcpName = /^[A-Za-z0-9_.-]{1,128}$/;

const reservedNames: ReadonlySet<string> = new Set(["submit_output"]);

/** The namespaces Toolweave makes itself. */
export const builtinNamespace = "builtin";
export const userNamespace = "user";
export const inlineNamespace = "inline";
const reservedNamespaces: ReadonlySet<string> = new Set([builtinNamespace, userNamespace, inlineNamespace]);

/** True for a name of the form builtins and namespaces have. */
export function isIdentifier(name: unknown): name is string {
  return typeof name === "string" && identifier.test(name);
}

/** True for a name of the form MCP asks of remote tools. */
export function isMcpName(name: string): boolean {
  return mcpName.test(name);
}

/** @throws ToolkitError `INVALID_NAME` */
export function assertIdentifier(name: unknown, what: string): asserts name is string {
  if (isIdentifier(name)) return;
  throw new ToolkitError("INVALID_NAME", `${shown(name)} is no name for a ${what}: it must be ${allowed}.`, {
    name: messageOf(name),
    allowed: identifier.source,
  });
}

/** @throws ToolkitError `INVALID_NAME` or `RESERVED_NAME` */
export function assertItemName(name: unknown, what: string): asserts name is string {
  assertIdentifier(name, what);
  if (reservedNames.has(name)) {
    throw new ToolkitError(
      "RESERVED_NAME",
      `"${name}" is reserved: an agent answers through it. Choose another name.`,
      {
        name,
      },
    );
  }
}

/** @throws ToolkitError `INVALID_NAME` or `RESERVED_NAME` */
export function assertNamespace(name: unknown): asserts name is string {
  assertIdentifier(name, "namespace");
  if (reservedNamespaces.has(name)) {
    throw new ToolkitError("RESERVED_NAME", `The namespace "${name}" is reserved. Choose another name.`, { name });
  }
}

/** The nearest identifier to any text, or the fallback where nothing of it can be kept. */
export function toIdentifier(text: string, fallback: string): string {
  const name = text
    .replace(/[^A-Za-z0-9_-]+/g, "-")
    .replace(/^[^A-Za-z]+/, "")
    .replace(/-+$/, "")
    .slice(0, 64);
  return name === "" ? fallback : name;
}

/** True where the name may be a namespace of the user's own. */
export function isFreeNamespace(name: string): boolean {
  return isIdentifier(name) && !reservedNamespaces.has(name);
}

/** The URI's scheme: two or more characters (a single one is a drive letter) and something after it (RFC 3986). */
const uri = /^[A-Za-z][A-Za-z0-9+.-]+:./s;

/** True for text that has a scheme and something after it. */
export function isUri(text: string): boolean {
  return uri.test(text);
}

/** @throws ToolkitError `INVALID_NAME` */
export function assertUri(text: unknown): asserts text is string {
  if (typeof text === "string" && isUri(text)) return;
  throw new ToolkitError(
    "INVALID_NAME",
    `${typeof text === "string" ? JSON.stringify(text) : messageOf(text)} is no URI: it needs a scheme and something after it, such as text:notes or file:///notes.md.`,
    { name: messageOf(text), allowed: "a URI with a scheme" },
  );
}
