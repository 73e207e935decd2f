import type { Prompt } from "../core/item.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import { type PromptLimits, readPromptLimits } from "../core/prompt-limits.ts";
import { FilePrompt } from "./file-prompt.ts";
import { parseFrontMatter } from "./front-matter/front-matter.ts";
import { parsePromptFields } from "./front-matter/prompt-fields.ts";
import { splitFrontMatter } from "./front-matter/split-front-matter.ts";
import { firstHeading } from "./heading.ts";
import { isDotprompt } from "./prompt-files.ts";
import { assertPromptSize } from "./prompt-size.ts";
import { givenPartials, Partials } from "./template/partials.ts";
import { Template } from "./template/prompt-template.ts";
import { templateFromLine } from "./template/template-source.ts";

/** Options of `parsePrompt`. */
export interface ParsePromptOptions {
  /** The file of the text: named in errors, and the name of a prompt that has none of its own. Nothing is read from it. */
  readonly filename?: string | undefined;
  /** The text of each partial by name: `{{> tone}}` is `partials.tone`. */
  readonly partials?: Readonly<Record<string, string>> | undefined;
  /** The size of the text and its partials, and the work of a rendering. */
  readonly limits?: PromptLimits | undefined;
}

const optionNames: OptionNames<ParsePromptOptions> = { filename: true, partials: true, limits: true };

/**
 * Parses the text of a prompt file: YAML front matter between two lines `---`, then a Handlebars template. The template is checked
 * now and compiled when it is first rendered.
 *
 * @throws ToolkitError `INVALID_PROMPT` with line, column and what to write instead; `LIMIT_EXCEEDED` for a text that is too
 *   large; `INVALID_NAME` or `RESERVED_NAME` for its name; `INVALID_CONFIG` for limits that are none
 *
 * @example
 * ```ts
 * const prompt = parsePrompt("---\nname: greet\n---\nGreet {{name}} in one sentence.");
 * ```
 */
export function parsePrompt(text: string, options: ParsePromptOptions = {}): Prompt {
  assertOptionNames(options, optionNames, "of parsePrompt");
  const { filename, partials } = options;
  const limits = readPromptLimits(options.limits, "limits");
  return parsePromptFile(text, filename, new Partials(givenPartials(partials, isDotprompt(filename)), limits));
}

/**
 * As `parsePrompt`, with the partials of a folder and their limits.
 *
 * @param namePrefix - the beginning of its name, for a prompt in a folder of a prompt folder
 */
export function parsePromptFile(text: string, file: string | undefined, folder: Partials, namePrefix = ""): Prompt {
  const { limits } = folder;
  assertPromptSize(text, file, limits);
  const split = splitFrontMatter(text, file, limits);
  const frontMatter = parseFrontMatter(split, file);
  const fields = parsePromptFields(frontMatter, namePrefix);
  const body = new Template(templateFromLine(split.body, file, split.bodyLine), "prompt");
  const system =
    fields.system === undefined
      ? undefined
      : new Template(frontMatter.templateOf("system_prompt", fields.system), "prompt");
  const partials = folder.neededBy(body, system);
  return new FilePrompt(fields, fields.title ?? firstHeading(split.body), {
    file,
    // The normalised text: a prompt with other line ends is the same prompt.
    text: split.text,
    unknown: Object.keys(fields.unknown ?? {}),
    body,
    system,
    partials,
    limits,
    placeOf: frontMatter.placeOf,
  });
}
