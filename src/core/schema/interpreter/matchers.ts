import type { Format } from "ajv";
import { fullFormats } from "ajv-formats/dist/formats.js";
import { toPattern } from "../check.ts";
import type { Matchers } from "./schema-document.ts";
import { charactersPerStep, type ValidationWork } from "./validation-work.ts";

/** In time that grows with the text: the usual pattern looks at each part of a text again for each other part. */
const isUrl = (text: string) => /^(?:https?|ftp):\/\/\S+$/i.test(text) && URL.canParse(text);

/** A longer text is no regular expression: to parse it takes too long. */
const maxRegex = 10_000;
const isRegex = (text: string) => text.length <= maxRegex && toPattern(text) !== undefined;

/** The formats, each in time that grows with the text and no faster. */
export const formats: Readonly<Record<string, Format>> = { ...fullFormats, url: isUrl, regex: isRegex };

/** A pattern and the steps that one character may take. */
export interface MeteredPattern {
  readonly size: number;
  test(text: string): boolean;
}

/** Matches patterns by an engine: by default that of the platform, which some patterns keep busy without end. */
export function matchersOf(compile: (source: string) => MeteredPattern = native): Matchers {
  return {
    pattern(source) {
      const { size, test } = compile(source);
      return (text, work) => {
        work.take(1 + (size * text.length) / charactersPerStep);
        return test(text);
      };
    },
    format: (name) => (Object.hasOwn(formats, name) ? formatMatcher(formats[name]) : undefined),
  };
}

function native(source: string): MeteredPattern {
  const pattern = toPattern(source);
  if (pattern === undefined) throw new Error(`The pattern ${source} is no regular expression (ECMA-262)`);
  return { size: 1, test: (text) => pattern.test(text) };
}

function formatMatcher(format: Format | undefined): ReturnType<Matchers["format"]> {
  const definition = typeof format === "object" && !(format instanceof RegExp) ? format : { validate: format };
  const { validate } = definition;
  const type = "type" in definition ? definition.type : "string";
  if (validate === undefined || typeof validate === "boolean" || typeof validate === "string") return undefined;
  const test = (validate instanceof RegExp ? (text: string) => validate.test(text) : validate) as (
    value: unknown,
  ) => boolean;
  return (value, work: ValidationWork) => {
    if (typeof value !== (type ?? "string")) return true;
    if (typeof value === "string") work.take(value.length / charactersPerStep);
    return test(value);
  };
}
