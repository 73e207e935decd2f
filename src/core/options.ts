import { nearest, orDidYouMean } from "../lib/similar.ts";
import { isPlainObject, isRecord } from "../lib/value.ts";
import { messageOf, ToolkitError } from "./error.ts";

/** The names of the options of a type, every one of them: the compiler asks for what is forgotten. */
export type OptionNames<T> = { readonly [K in keyof T]-?: true };

/** The one option of methods that can only be aborted. */
export const signalName: OptionNames<{ readonly signal?: AbortSignal | undefined }> = { signal: true };

/** The most characters of a value that a message shows. */
const shownLength = 200;

/** A value for a message, so that its type is seen: a string has quotes. It never throws. */
export function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(beginning(value));
  if (typeof value === "function") return "a function";
  // In JSON, NaN and the infinities are null.
  return typeof value === "number" ? String(value) : beginning(messageOf(value));
}

function beginning(text: string): string {
  return text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
}

/**
 * The error for an option that is not what it must be.
 *
 * @param owner - whose it is, for the message: `of a connector`
 */
export function invalidOption(
  path: string,
  wanted: string,
  value: unknown,
  owner?: string,
): ToolkitError<"INVALID_CONFIG"> {
  const option = owner === undefined ? path : `${path} ${owner}`;
  return new ToolkitError("INVALID_CONFIG", `The option ${option} must be ${wanted}, and is ${shown(value)}.`, {
    path,
  });
}

/**
 * Refuses unknown option names: a misspelt restriction must not fail open. An undefined option counts as missing.
 * Other members of an instance of a class are its own business.
 *
 * @param owner - whose they are, for the message: `of a view`
 * @param path - where they stand, for the details. Default: at the top
 * @throws ToolkitError `INVALID_CONFIG`, naming the option, the nearest there is, and all
 */
export function assertOptionNames<T>(options: unknown, names: OptionNames<T>, owner: string, path = ""): void {
  if (!isRecord(options)) {
    const message = `The options ${owner} must be an object, and are ${shown(options)}.`;
    throw new ToolkitError("INVALID_CONFIG", message, { path });
  }
  if (!isPlainObject(options)) return;
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(names, name) || options[name] === undefined) continue;
    throw unknownOption(name, Object.keys(names), owner, path);
  }
}

function unknownOption(
  odd: string,
  known: readonly string[],
  owner: string,
  path: string,
): ToolkitError<"INVALID_CONFIG"> {
  const hint = orDidYouMean(nearest(odd, known));
  const message = `There is no option ${JSON.stringify(odd)} ${owner}.${hint} There are ${known.join(", ")}.`;
  return new ToolkitError("INVALID_CONFIG", message, { path: path === "" ? odd : `${path}.${odd}` });
}
