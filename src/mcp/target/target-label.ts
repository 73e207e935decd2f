import { decoded, isTokenLike, secretMask, withoutTokens } from "../../lib/token-shape.ts";
import type { CheckedHttpTarget, CheckedTarget } from "./parse-target.ts";
import { canonicalUrl } from "./target-values.ts";

/**
 * The label of a target, without secrets: the canonical URL with `***` in place of what may be a key in its path, or the command without its
 * folder and its arguments. Targets are told apart by the URL itself, never by this.
 */
export function labelOf(target: CheckedTarget): string {
  return target.kind === "http" ? withoutTokens(canonicalUrl(shownUrl(target))) : commandName(target.written);
}

function shownUrl({ url, masked }: CheckedHttpTarget): URL {
  return masked?.url ?? url;
}

/**
 * The part of a command that may be shown: its file name. Arguments often hold secrets, and some commands have them, or variables, inside:
 * then it is the first word.
 */
export function commandName(command: string): string {
  // A folder may have blanks in its name; a dash behind one begins an argument.
  const isPath = /^(?:[\\/]|[A-Za-z]:)/.test(command) && !/\s-|=/.test(command);
  const name = isPath ? fileName(command) : command;
  if (!/[\s=]/.test(name)) return fileName(name);
  return fileName(/^[^\s=]*/.exec(command)?.[0] ?? "") || "command";
}

function fileName(path: string): string {
  return path.split(/[\\/]/).findLast((segment) => segment !== "") ?? path;
}

/**
 * A namespace to use until the server has said its name: the last path segment of the URL that is neither `mcp` nor `sse`, else
 * the host, or the command's name. What may be a secret is none.
 */
export function suggestedNameOf(target: CheckedTarget): string {
  if (target.kind === "stdio") {
    if (/[\s=]/.test(target.written)) return "server";
    return commandName(target.written).replace(/\.(?:exe|cmd|bat|com|m?js|ts|py|sh)$/i, "") || "server";
  }
  const { pathname, hostname } = shownUrl(target);
  const segments = pathname.split("/").filter((segment) => segment !== "" && !/^(?:mcp|sse)$/i.test(segment));
  const last = decoded(segments.at(-1) ?? "");
  return last === "" || !/^[A-Za-z][A-Za-z0-9_.-]*$/.test(last) || isTokenLike(last) ? nameOf(hostname) : last;
}

function nameOf(hostname: string): string {
  return hostname.includes(secretMask) ? "server" : hostname;
}
