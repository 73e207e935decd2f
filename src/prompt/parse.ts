import type { Prompt } from "../core/item.ts";
import { isDotprompt } from "./file-name.ts";
import { readFields } from "./front-matter/fields.ts";
import { assertBody, splitFrontMatter } from "./front-matter/split.ts";
import { readFrontMatter } from "./front-matter/yaml.ts";
import { FilePrompt } from "./prompt.ts";
import { givenPartials, Partials } from "./template/partials.ts";
import { templateFromLine } from "./template/source.ts";
import { Template } from "./template/template.ts";
import { firstHeading } from "./title.ts";

/** How the text of a prompt is read. */
export interface ParsePromptOptions {
  /** Where it is from: named in errors, and the name of a prompt that has none of its own. Nothing is read from it. */
  readonly filename?: string | undefined;
  /** The text of each partial by name: `{{> tone}}` is `partials.tone`. */
  readonly partials?: Readonly<Record<string, string>> | undefined;
}

/**
 * Reads a prompt from the text of a markdown file: YAML front matter between two lines `---`, then a Handlebars template. The
 * template is checked now and compiled when it is first rendered.
 *
 * @throws ToolkitError `INVALID_PROMPT` with line, column and what to write instead; `INVALID_NAME` or `RESERVED_NAME` for its name
 *
 * @example
 * ```ts
 * const prompt = parsePrompt("---\nname: greet\n---\nGreet {{name}} in one sentence.");
 * ```
 */
export function parsePrompt(text: string, options: ParsePromptOptions = {}): Prompt {
  const { filename, partials } = options;
  return parsePromptFile(text, filename, new Partials(givenPartials(partials, isDotprompt(filename))));
}

/** As `parsePrompt`, with the partials of a folder. */
export function parsePromptFile(text: string, file: string | undefined, folder: Partials): Prompt {
  const split = splitFrontMatter(text, file);
  const frontMatter = readFrontMatter(split, file);
  const fields = readFields(frontMatter);
  assertBody(split, file);
  const body = new Template(templateFromLine(split.body, file, split.bodyLine), "prompt");
  const system =
    fields.system === undefined
      ? undefined
      : new Template(frontMatter.source("system_prompt", fields.system), "prompt");
  const partials = new Map([...folder.neededBy(body), ...(system === undefined ? [] : folder.neededBy(system))]);
  return new FilePrompt(fields, fields.title ?? firstHeading(split.body), {
    file,
    // As it was split: other line ends make no other prompt.
    text: split.text,
    unknown: Object.keys(fields.unknown ?? {}),
    body,
    system,
    partials,
    placeOf: frontMatter.placeOf,
  });
}
