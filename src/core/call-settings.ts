import { type FieldCheck, isBoolean, oneOf, optional } from "../lib/field-checks.ts";
import { isRecord } from "../lib/value.ts";
import { ToolkitError } from "./error.ts";
import { assertOptionNames, invalidOption, type OptionNames, shown } from "./options.ts";
import type { Session } from "./session.ts";

/** Settings of calls: of the tool, of its connector, and of the toolkit by names, refs and globs, which take precedence. */
export interface CallSettings {
  /**
   * The inactivity limit of one attempt in milliseconds: it starts again whenever the tool reports progress.
   * Default: the toolkit's `timeoutMs` (60,000). `Number.POSITIVE_INFINITY` for none.
   */
  readonly timeoutMs?: number | undefined;
  /** Repair the usual mistakes of models in the input before it is refused. Default false; the call's own option goes before. */
  readonly coerce?: boolean | undefined;
  /** Keep answers, and run calls that are equal at the same time once. Default: none. */
  readonly cache?: CacheSetting | false | undefined;
  /**
   * Whether and how what failed is made again, where that is safe. Default: a connector's tool is tried 4 times in all; a builtin once.
   * A builtin's own setting, or one for its very ref, says that it is safe; else its annotations must.
   */
  readonly retry?: RetrySetting | false | undefined;
  /**
   * At most so many attempts of each principal in any such time; beyond it `RATE_LIMITED`. Every limit that fits holds: a tool's own is
   * for that tool, one of the toolkit is shared by all that fit it. `false` lifts those before it.
   */
  readonly rateLimit?: RateLimitSetting | false | undefined;
  /** At most so many attempts at once; a further one waits for a turn. Shared and lifted as `rateLimit`. */
  readonly maxConcurrent?: number | false | undefined;
  /**
   * Whether a call must be approved first: always, or where a function of the validated input says so. What that throws refuses the
   * call. Default false. The policy, and the call's own option, may ask for it too.
   */
  readonly needsApproval?: boolean | ApprovalTest | undefined;
}

/** Decides whether a call needs approval, from its input and session. */
export type ApprovalTest = {
  // As a method, so that a function of a narrower input fits.
  test(input: unknown, context: { readonly session: Session }): boolean | Promise<boolean>;
}["test"];

/** The cache of a tool's answers. */
export interface CacheSetting {
  /** The time an answer is good for, in milliseconds. */
  readonly ttlMs: number;
  /** The part of the input that makes two calls equal. Default: all of it, as canonical JSON. */
  key?(input: unknown): string;
}

/** Repetition of a call. */
export interface RetrySetting {
  /** The number of times it is tried in all, the first included: from 1. Default 4. */
  readonly attempts?: number | undefined;
  /** The bound of the first wait, which doubles, in milliseconds. Default 100. */
  readonly baseMs?: number | undefined;
  /** The bound no wait goes beyond, unless a server asks for a longer one, in milliseconds. Default 2,000. */
  readonly maxMs?: number | undefined;
  /**
   * True: an attempt that may have run is not made again; only one that surely did not run is, such as one that was refused or not sent. For a
   * builtin whose work is not safe to repeat. Default false.
   */
  readonly onlyUnsent?: boolean | undefined;
}

/** A number of attempts in a period. */
export interface RateLimitSetting {
  /** So many attempts, from 1. */
  readonly calls: number;
  /** In any so many milliseconds. */
  readonly perMs: number;
  /**
   * `principal`: so many for each principal, and so many for all calls together that come without one. `all`: so many in all, for a
   * quota of the far side. Default `principal`.
   */
  readonly per?: "principal" | "all" | undefined;
}

const isAbove0: FieldCheck = (value) => typeof value === "number" && value > 0 && value < Number.POSITIVE_INFINITY;
const isCount: FieldCheck = (value) => Number.isInteger(value) && (value as number) > 0;
const isFunction: FieldCheck = (value) => typeof value === "function";

/** An object whose fields are so, and that has no others. */
function hasOnly(fields: Readonly<Record<string, FieldCheck>>): FieldCheck {
  return (value) =>
    isRecord(value) &&
    Object.keys(value).every((name) => Object.hasOwn(fields, name)) &&
    Object.entries(fields).every(([name, is]) => is(value[name]));
}

function orFalse(is: FieldCheck): FieldCheck {
  return (value) => value === false || is(value);
}

/** Each setting: what it must be, and whether a value is that. */
const checks: { readonly [S in keyof CallSettings]-?: readonly [wanted: string, is: FieldCheck] } = {
  timeoutMs: ["a number of milliseconds above 0", (value) => typeof value === "number" && value > 0],
  coerce: ["true or false", isBoolean],
  cache: [
    "false, or { ttlMs, key? } with ttlMs above 0 and key a function",
    orFalse(hasOnly({ ttlMs: isAbove0, key: optional(isFunction) })),
  ],
  retry: [
    "false, or { attempts?, baseMs?, maxMs?, onlyUnsent? } with attempts a whole number from 1, milliseconds above 0 and onlyUnsent true or false",
    orFalse(
      hasOnly({
        attempts: optional(isCount),
        baseMs: optional(isAbove0),
        maxMs: optional(isAbove0),
        onlyUnsent: optional(isBoolean),
      }),
    ),
  ],
  rateLimit: [
    'false, or { calls, perMs, per? } with calls a whole number from 1, perMs above 0 and per "principal" or "all"',
    orFalse(hasOnly({ calls: isCount, perMs: isAbove0, per: optional(oneOf("principal", "all")) })),
  ],
  maxConcurrent: ["false, or a whole number from 1", orFalse(isCount)],
  needsApproval: ["true, false or a function", (value) => isBoolean(value) || isFunction(value)],
};

const settingNames = Object.fromEntries(
  Object.keys(checks).map((name) => [name, true]),
) as unknown as OptionNames<CallSettings>;

/**
 * Checks settings.
 *
 * @param owner - whose they are, for the message: `of the tool "greet"`
 * @param path - where they stand, for the details
 * @throws ToolkitError `INVALID_CONFIG`, naming the setting
 */
export function assertSettings(settings: unknown, owner: string, path: string): asserts settings is CallSettings {
  if (settings === undefined) return;
  if (!isRecord(settings)) throw invalid(`The settings ${owner} must be an object, and are ${shown(settings)}.`, path);
  for (const [name, [wanted, is]] of Object.entries(checks)) {
    const value = settings[name];
    if (value === undefined || is(value)) continue;
    throw invalid(`${path}.${name} ${owner} must be ${wanted}, and is ${shown(value)}.`, `${path}.${name}`);
  }
}

/** @throws ToolkitError `INVALID_CONFIG` for what is not settings by name, or names a setting there is not */
export function assertSettingsByName(settings: unknown): asserts settings is Readonly<Record<string, CallSettings>> {
  if (!isRecord(settings)) throw invalidOption("settings", "an object", settings);
  for (const [pattern, each] of Object.entries(settings)) {
    const path = `settings[${JSON.stringify(pattern)}]`;
    if (pattern === "") throw invalid("settings has an empty key: write a name, a ref or a glob.", path);
    assertSettings(each, `for ${pattern}`, path);
    // Other fields of a tool's options are its own; here a name that is none is a slip.
    if (each !== undefined) assertOptionNames(each, settingNames, `in ${path}`, path);
  }
}

function invalid(message: string, path: string): ToolkitError<"INVALID_CONFIG"> {
  return new ToolkitError("INVALID_CONFIG", message, { path });
}
