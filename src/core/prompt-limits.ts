import { ToolkitError } from "./error.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "./options.ts";

/** The size of a prompt and of the work of rendering it. Beyond a limit `LIMIT_EXCEEDED` names it in `details.limit`. */
export interface PromptLimits {
  /** The largest file or stored text of a prompt or a partial, in bytes. Default: 256 KiB. */
  readonly maxBytes?: number | undefined;
  /** The largest front matter, in bytes. YAML takes more time than the text of a prompt does. Default: 64 KiB. */
  readonly maxFrontMatterBytes?: number | undefined;
  /** The largest text that one rendering writes, in bytes. Default: 1 MiB. */
  readonly maxOutputBytes?: number | undefined;
  /**
   * The most steps of one rendering. A step is a tag, an entry of `{{#each}}`, a partial, a value inside what is written as JSON, or 64
   * characters of a text that a helper reads or writes. Default: 1,000,000, which take about a tenth of a second.
   */
  readonly maxRenderSteps?: number | undefined;
}

/** Every limit, with its default in place. */
export type ReadPromptLimits = { readonly [K in keyof PromptLimits]-?: number };

/** The limits where none are given. */
export const defaultPromptLimits: ReadPromptLimits = Object.freeze({
  maxBytes: 256 * 1024,
  maxFrontMatterBytes: 64 * 1024,
  maxOutputBytes: 1024 * 1024,
  maxRenderSteps: 1_000_000,
});

const names: OptionNames<PromptLimits> = {
  maxBytes: true,
  maxFrontMatterBytes: true,
  maxOutputBytes: true,
  maxRenderSteps: true,
};

/**
 * Reads the limits of prompts and puts the defaults in.
 *
 * @param path - the option that holds them
 * @throws ToolkitError `INVALID_CONFIG` for an unknown one, and for one that is no whole number from 1
 */
export function readPromptLimits(given: PromptLimits | undefined, path: string): ReadPromptLimits {
  if (given === undefined) return defaultPromptLimits;
  assertOptionNames(given, names, `of ${path}`, path);
  const limits: { -readonly [K in keyof ReadPromptLimits]: number } = { ...defaultPromptLimits };
  for (const name of Object.keys(names) as readonly (keyof PromptLimits)[]) {
    const value = given[name];
    if (value === undefined) continue;
    if (!(Number.isInteger(value) && value >= 1))
      throw invalidOption(`${path}.${name}`, "a whole number from 1", value);
    limits[name] = value;
  }
  return limits;
}

/** The error of a limit. The message begins with the place. */
export function promptLimitExceeded(
  limit: string,
  max: number,
  message: string,
  actual?: number,
): ToolkitError<"LIMIT_EXCEEDED"> {
  const details = { limit, max, ...(actual === undefined ? {} : { actual }) };
  return new ToolkitError("LIMIT_EXCEEDED", `${message} The limit ${limit} is ${max.toLocaleString("en")}.`, details);
}
