import { isDotprompt } from "../prompt-files.ts";
import { placeOf, promptProblem } from "../prompt-problem.ts";

/** The two parts of a file. Lines count from 1, in the whole file. */
export interface SplitFile {
  /** The whole text: without byte order mark, lines ended by `\n`. */
  readonly text: string;
  readonly yaml: string;
  /** Start of the YAML in the text. */
  readonly yamlStart: number;
  readonly body: string;
  readonly bodyLine: number;
}

const openingLine = /^---[ \t]*(\S.*)?$/;
const closingLine = /^---[ \t]*$/m;

/** Removes the byte order mark and ends each line with `\n`: lines and columns stay the same. */
function normaliseText(text: string): string {
  const start = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  return (start === 1 ? text.slice(1) : text).replace(/\r\n?/g, "\n");
}

/** Separates the front matter from the text. @throws ToolkitError `INVALID_PROMPT` */
export function splitFrontMatter(given: string, file: string | undefined): SplitFile {
  const text = normaliseText(given);
  const start = isDotprompt(file) ? startInDotprompt(text) : 0;
  return start === undefined ? { text, yaml: "", yamlStart: 0, body: text, bodyLine: 1 } : splitAt(text, start, file);
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

function splitAt(text: string, start: number, file: string | undefined): SplitFile {
  const fail = (offset: number, what: string, hint: string) => promptProblem(file, placeOf(text, offset), what, hint);
  const firstLine = lineAt(text, start);
  const opening = openingLine.exec(firstLine);
  if (opening === null) {
    const hint = /^\s+---[ \t]*(?:\n|$)/.test(text)
      ? "Remove everything before the first ---."
      : "Start the file with a line ---, then the fields such as `title: ...`, then a line ---, then the text.";
    throw fail(0, "The file does not start with front matter.", hint);
  }
  if (opening[1] !== undefined) {
    throw fail(
      start + 3,
      `The opening line says ${JSON.stringify(opening[1])} after ---, but front matter is YAML and no code runs from a prompt file.`,
      "Write --- alone on the first line.",
    );
  }
  const yamlStart = start + firstLine.length + 1;
  const rest = text.slice(yamlStart);
  const closing = closingLine.exec(rest);
  if (closing === null) throw unclosed(rest, yamlStart, fail);
  const yaml = rest.slice(0, closing.index);
  const body = rest.slice(closing.index + closing[0].length + 1);
  const bodyLine = placeOf(text, yamlStart).line + yaml.split("\n").length;
  return { text, yaml, yamlStart, body, bodyLine };
}

/** @throws ToolkitError `INVALID_PROMPT` for a prompt without a text */
export function assertBody({ body, bodyLine }: SplitFile, file: string | undefined): void {
  if (body.trim() !== "") return;
  const place = { line: bodyLine, column: 1 };
  throw promptProblem(file, place, "The prompt has no text.", "Write it after the closing line ---.");
}

function unclosed(rest: string, start: number, fail: (offset: number, what: string, hint: string) => Error): Error {
  const almost = /^[ \t]*(?:-{3,}|\.{3})[ \t]*$/m.exec(rest);
  if (almost !== null) {
    return fail(
      start + almost.index,
      `The front matter is not closed: this line is ${JSON.stringify(almost[0])}.`,
      "Write --- alone, without blanks before it.",
    );
  }
  return fail(
    0,
    "The front matter that starts here is never closed.",
    "Write a line --- after the last field, before the text of the prompt.",
  );
}

/** The text of a partial without its front matter, if it has any. @throws ToolkitError `INVALID_PROMPT` */
export function partialBody(given: string, file: string): { readonly body: string; readonly bodyLine: number } {
  const text = normaliseText(given);
  if (/^---[ \t]*\n/.test(text)) return splitAt(text, 0, file);
  return { body: text, bodyLine: 1 };
}
