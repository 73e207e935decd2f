import { decoded } from "../../lib/pointer.ts";
import { isTokenLike, secretMask, withoutTokens } from "../../lib/token-shape.ts";
import type { CheckedHttpTarget, CheckedStdioTarget, CheckedTarget } from "./parse-target.ts";
import { canonicalUrl } from "./target-values.ts";

/**
 * The label of a target, without secrets: the canonical URL with `***` in place of what may be a key in its path, the package that a command
 * such as `npx` runs, or the command without its folder and its arguments. Targets are told apart by the URL itself, never by this.
 */
export function labelOf(target: CheckedTarget): string {
  if (target.kind === "http") return withoutTokens(canonicalUrl(shownUrl(target)));
  return packageOf(target)?.spec ?? commandName(target.written);
}

/** Commands that fetch a package and run it: their words before the package. */
const runners: Readonly<Record<string, readonly (readonly string[])[]>> = {
  npx: [[]],
  pnpx: [[]],
  bunx: [[]],
  uvx: [[]],
  npm: [["exec"], ["x"]],
  pnpm: [["dlx"], ["exec"]],
  yarn: [["dlx"]],
  bun: [["x"]],
  pipx: [["run"]],
  uv: [["tool", "run"]],
};
/** Flags of them that take no value, and those whose value is the package. */
const switches = new Set([
  "-y",
  "--yes",
  "-q",
  "--quiet",
  "--silent",
  "--bun",
  "--isolated",
  "--offline",
  "--prefer-offline",
  "--",
]);
const packageFlags = new Set(["-p", "--package", "--from", "--spec"]);
const packageSpec = /^((?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*)(?:\[[\w,-]+\])?(?:(?:@|==)[\w.^~-]+)?$/i;

/** The package that the command runs, as it is written; undefined where it is not surely one, as arguments may hold secrets. */
export function packageOf(
  target: Pick<CheckedStdioTarget, "written" | "writtenArgs">,
): { readonly spec: string; readonly name: string; readonly runner: string } | undefined {
  const runner = commandName(target.written).replace(/\.(?:cmd|exe|ps1)$/i, "");
  const words = Object.hasOwn(runners, runner) ? runners[runner] : undefined;
  const before = words?.find((each) => each.every((word, index) => target.writtenArgs[index] === word));
  if (before === undefined || /[\s=]/.test(target.written)) return undefined;
  const args = target.writtenArgs.slice(before.length);
  let at = 0;
  while (switches.has(args[at] ?? "")) at += 1;
  const flag = args[at] ?? "";
  const [option = "", given] = flag.split("=");
  const spec = packageFlags.has(option) ? (given ?? args[at + 1]) : flag;
  const name = packageSpec.exec(spec ?? "")?.[1];
  if (spec === undefined || name === undefined || spec.split(/[/@[\]=]+/).some(isTokenLike)) return undefined;
  return { spec, name, runner };
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
    const name = packageOf(target)?.name;
    if (name !== undefined) return name.split("/").at(-1) ?? name;
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
