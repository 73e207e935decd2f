import type { Format } from "ajv";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { toPattern } from "../check.ts";
import { charactersPerStep } from "../size.ts";
import type { ValidationWork } from "./validation-work.ts";

/** A longer text is checked by the platform alone: the usual pattern looks at each part of a text again for each other part. */
const maxUsualUrl = 2_000;
/** A longer text is no regular expression: to parse it takes too long. */
const maxRegex = 10_000;

const parsesAsUrl = (text: string) => /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text);
const usualUrl = fullFormats.url as RegExp;

/** The format `url`, in bounded time. */
export function isUsualUrl(text: string): boolean {
  return text.length > maxUsualUrl ? parsesAsUrl(text) : usualUrl.test(text);
}

const formats: Readonly<Record<string, Format>> = {
  ...fullFormats,
  url: parsesAsUrl,
  regex: (text: string) => text.length <= maxRegex && toPattern(text) !== undefined,
};

/** Whether a value is of a format; each takes time that grows with the text and no faster. */
export type FormatCheck = (value: unknown, work: ValidationWork) => boolean;

/** The check of a format; undefined for one that is not known or allows anything. */
export function formatCheck(name: string): FormatCheck | undefined {
  const format = Object.hasOwn(formats, name) ? formats[name] : undefined;
  const { validate, type = "string" } =
    typeof format === "object" && !(format instanceof RegExp)
      ? (format as { readonly validate?: unknown; readonly type?: "string" | "number" })
      : { validate: format };
  if (!(validate instanceof RegExp || typeof validate === "function")) return undefined;
  const test = validate instanceof RegExp ? (text: unknown) => validate.test(text as string) : validate;
  return (value, work) => {
    if (typeof value !== type) return true;
    if (typeof value === "string") work.take(value.length / charactersPerStep);
    return test(value) === true;
  };
}
