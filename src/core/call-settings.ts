import { isRecord } from "../lib/value.ts";
import { messageOf, ToolkitError } from "./error.ts";

/** How a tool is called: set by the tool itself, by its connector, and, with the last word, by the toolkit for refs by glob. */
export interface CallSettings {
  /**
   * The inactivity limit of one attempt in milliseconds: it starts again whenever the tool reports progress.
   * Default: the toolkit's `timeoutMs` (60,000). `Number.POSITIVE_INFINITY` for none.
   */
  readonly timeoutMs?: number | undefined;
}

/** Each setting: what it must be, and whether a value is that. */
const checks: { readonly [S in keyof CallSettings]-?: readonly [wanted: string, is: (value: unknown) => boolean] } = {
  timeoutMs: ["a number of milliseconds above 0", (value) => typeof value === "number" && value > 0],
};

/**
 * Checks settings.
 *
 * @param owner - whose they are, for the message: `of the tool "greet"`
 * @param path - where they stand, for the details
 * @throws ToolkitError `INVALID_CONFIG`, naming the setting
 */
export function assertSettings(settings: unknown, owner: string, path: string): asserts settings is CallSettings {
  if (settings === undefined) return;
  if (!isRecord(settings))
    throw invalid(`The settings ${owner} must be an object, and are ${messageOf(settings)}.`, path);
  for (const [name, [wanted, is]] of Object.entries(checks)) {
    const value = settings[name];
    if (value === undefined || is(value)) continue;
    throw invalid(`${path}.${name} ${owner} must be ${wanted}, and is ${messageOf(value)}.`, `${path}.${name}`);
  }
}

/** @throws ToolkitError `INVALID_CONFIG` for what is not settings by glob, or names a setting there is not */
export function assertSettingsByGlob(settings: unknown): asserts settings is Readonly<Record<string, CallSettings>> {
  if (!isRecord(settings))
    throw invalid(`The option settings must be an object, and is ${messageOf(settings)}.`, "settings");
  for (const [pattern, each] of Object.entries(settings)) {
    const path = `settings[${JSON.stringify(pattern)}]`;
    assertSettings(each, `for ${pattern}`, path);
    // What a tool has beside its settings is its own; here a name that is none is a slip.
    const odd = Object.keys(each ?? {}).find((name) => !Object.hasOwn(checks, name));
    if (odd === undefined) continue;
    const known = Object.keys(checks).join(", ");
    throw invalid(`${path} names "${odd}", and there is no such setting. There are ${known}.`, `${path}.${odd}`);
  }
}

function invalid(message: string, path: string): ToolkitError<"INVALID_CONFIG"> {
  return new ToolkitError("INVALID_CONFIG", message, { path });
}
