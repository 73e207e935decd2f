import type { ReadPromptLimits } from "../../core/prompt-limits.ts";
import { loadGrayMatter } from "../../lib/lazy-libraries.ts";
import { firstHeading } from "../heading.ts";
import { isDotprompt } from "../prompt-files.ts";
import { placeOf, promptProblem } from "../prompt-problem.ts";
import { assertFrontMatterSize } from "../prompt-size.ts";
import { parsePlainYaml } from "./plain-yaml.ts";

/** The two parts of a file. Lines count from 1, in the whole file. */
export interface SplitFile {
  /** The whole text: without byte order mark, lines ended by `\n`. */
  readonly text: string;
  readonly yaml: string;
  /** Start of the YAML in the text. */
  readonly yamlStart: number;
  /** The fields of the YAML; undefined for YAML that the library has to parse. */
  readonly values: Readonly<Record<string, unknown>> | undefined;
  readonly body: string;
  readonly bodyLine: number;
}

/** The names of fields, by which front matter is recognised whose opening line is missing. */
const fieldNames =
  "name|title|description|model|provider|system_prompt|input|output|format|tools|thinking|thinking_budget|settings";
const openingLine = /^---[ \t]*(\S.*)?$/;
// Without the flag m, which takes U+2028 for the end of a line.
const closingLine = /(?<=^|\n)---[ \t]*(?=\n|$)/;
// gray-matter needs time that grows with the square of the empty lines in a row. More than an author writes.
const maxEmptyLines = 100;
/** In shorter front matter that time is too short to matter, in characters. */
const harmlessLength = 2_000;
const emptyLines = new RegExp(`(?:^[^\\S\\n\u2028\u2029]*[\\n\u2028\u2029]){${maxEmptyLines + 1}}`, "m");
/** Quoted text is cut in messages, in characters. */
const maxQuoted = 60;

/** Removes the byte order mark and ends each line with `\n`: lines and columns stay the same. */
function normaliseText(text: string): string {
  const start = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  const unmarked = start === 1 ? text.slice(1) : text;
  return unmarked.includes("\r") ? unmarked.replace(/\r\n?/g, "\n") : unmarked;
}

/**
 * Separates the front matter from the text. A markdown file without front matter needs a heading: else it may be anything, such as
 * a file that is being written.
 *
 * @throws ToolkitError `INVALID_PROMPT`, `LIMIT_EXCEEDED` for front matter that is too large
 */
export function splitFrontMatter(given: string, file: string | undefined, limits: ReadPromptLimits): SplitFile {
  const text = normaliseText(given);
  const start = isDotprompt(file) ? startInDotprompt(text) : startInMarkdown(text);
  if (start !== undefined) return splitAt(text, start, file, limits);
  return { text, yaml: "", yamlStart: 0, values: {}, body: text, bodyLine: 1 };
}

/** A first line that belongs into front matter: a line --- that is indented or comes late, or a field whose opening line is missing. */
const misplacedStart = new RegExp(`^\\s*(?:---[ \\t]*(?:\\n|$)|(?:${fieldNames}):(?:[ \\n]|$))`);

/** Start of the front matter in markdown; undefined for a text with a heading and no front matter. */
function startInMarkdown(text: string): number | undefined {
  if (text.startsWith("---") || misplacedStart.test(text)) return 0;
  return firstHeading(text, { withTags: true }) === undefined ? 0 : undefined;
}

/** Start of the front matter in dotprompt, where comments and empty lines may come before it; undefined for none. */
function startInDotprompt(text: string): number | undefined {
  let start = 0;
  while (/^[ \t]*(?:#|$)/.test(lineAt(text, start)) && text.indexOf("\n", start) !== -1)
    start = text.indexOf("\n", start) + 1;
  return lineAt(text, start).startsWith("---") ? start : undefined;
}

function lineAt(text: string, start: number): string {
  const end = text.indexOf("\n", start);
  return text.slice(start, end === -1 ? undefined : end);
}

/** Makes the error of a mistake at an offset of the text. */
type SplitProblem = (offset: number, what: string, hint: string) => Error;

function splitAt(text: string, start: number, file: string | undefined, limits: ReadPromptLimits): SplitFile {
  const problem: SplitProblem = (offset, what, hint) => promptProblem(file, placeOf(text, offset), what, hint);
  const yamlStart = start + openingLength(text, start, problem);
  const rest = text.slice(yamlStart);
  const closing = closingLine.exec(rest);
  if (closing === null) throw unclosed(rest, yamlStart, problem);
  assertFrontMatterSize({ text, yaml: rest.slice(0, closing.index), yamlStart }, file, limits);
  const end = yamlStart + closing.index + closing[0].length;
  const empty = closing.index > harmlessLength ? emptyLines.exec(rest.slice(0, closing.index)) : null;
  if (empty !== null) {
    const what = `The front matter has more than ${maxEmptyLines} empty lines in a row.`;
    throw problem(yamlStart + empty.index, what, "Remove them.");
  }
  // The delimiter holds its line end: gray-matter would also close at a line `--- x`. It copies the text, so it gets no more than it needs.
  const options = { engines, language: "yaml", delimiters: ["---", `${closing[0]}\n`] as [string, string] };
  const { data, matter } = loadGrayMatter()(`${text.slice(start, end)}\n`, options);
  const yaml = text.slice(yamlStart, start + "---".length + matter.length + 1);
  return {
    text,
    yaml,
    yamlStart,
    // The engine is not called for comments alone.
    values: "values" in data ? data.values : parsePlainYaml(yaml),
    body: text.slice(end + 1),
    bodyLine: placeOf(text, yamlStart).line + yaml.split("\n").length,
  };
}

/** The length of the opening line, its line end included. @throws ToolkitError `INVALID_PROMPT` for a line that is none */
function openingLength(text: string, start: number, problem: SplitProblem): number {
  const line = lineAt(text, start);
  const opening = openingLine.exec(line);
  if (opening === null) {
    const hint = /^\s+---[ \t]*(?:\n|$)/.test(text)
      ? "Remove everything before the first ---."
      : "Start the file with a line ---, then the fields such as `title: ...`, then a line ---, then the text; or with a `# heading`.";
    throw problem(0, "The file does not start with front matter.", hint);
  }
  const [, language] = opening;
  if (language === undefined) return line.length + 1;
  const what = `The opening line says ${quote(language)} after ---, but front matter is YAML and no code runs from a prompt file.`;
  throw problem(start + 3, what, "Write --- alone on the first line.");
}

/** The only engine: a language that the opening line names is refused before gray-matter sees it. */
const engines = {
  yaml: { parse: (yaml: string) => ({ values: parsePlainYaml(yaml) }) },
  json: { parse: refuseEngine },
  javascript: { parse: refuseEngine },
};

function refuseEngine(): never {
  throw new TypeError("Front matter is YAML.");
}

function unclosed(rest: string, start: number, problem: SplitProblem): Error {
  const almost = /^[ \t]*(?:-{3,}|\.{3})[ \t]*$/m.exec(rest);
  if (almost === null) {
    const hint = "Write a line --- after the last field, before the text of the prompt.";
    return problem(0, "The front matter that starts here is never closed.", hint);
  }
  const what = `The front matter is not closed: this line is ${quote(almost[0])}.`;
  return problem(start + almost.index, what, "Write --- alone, without blanks before it.");
}

function quote(text: string): string {
  return JSON.stringify(text.length > maxQuoted ? `${text.slice(0, maxQuoted)}...` : text);
}

/** The text of a partial without its front matter, if it has any. @throws ToolkitError `INVALID_PROMPT`, `LIMIT_EXCEEDED` */
export function partialBody(
  given: string,
  file: string,
  limits: ReadPromptLimits,
): { readonly body: string; readonly bodyLine: number } {
  const text = normaliseText(given);
  if (/^---[ \t]*\n/.test(text)) return splitAt(text, 0, file, limits);
  return { body: text, bodyLine: 1 };
}
