import { findOtherTemplate, otherTemplateProblem } from "../migrate/migration.ts";
import { placeFinder, placeOf, promptProblem } from "../prompt-problem.ts";
import { type ParseFailure, parseHandlebars, toParseFailure } from "./handlebars-parser.ts";
import { placeInFile, type TemplateSource } from "./template-source.ts";

/** Parses a template. @throws ToolkitError `INVALID_PROMPT` with the place in the file */
export function parseTemplate(source: TemplateSource): hbs.AST.Program {
  assertDepth(source);
  assertTags(source);
  assertHandlebars(source, false);
  try {
    return parseHandlebars(source.text);
  } catch (error) {
    const failure = toParseFailure(error);
    assertHandlebars(source, true, error);
    const { what, hint, line, column } = explainFailure(source.text, failure);
    throw promptProblem(source.file, source.placeAt(line, column), what, hint, error);
  }
}

/** @throws ToolkitError `INVALID_PROMPT` for a template in another language */
function assertHandlebars(source: TemplateSource, isBroken: boolean, cause?: unknown): void {
  const other = findOtherTemplate(source.text, isBroken);
  if (other !== undefined) throw otherTemplateProblem(source, other, cause);
}

// Far more than an author writes. Handlebars needs time that grows with the square of the depth, and then overflows the stack.
const maxDepth = 100;

const depthMarks = /\{\{~?(?:[#/]|\^(?=\s*[^\s~}])|\s*else\s+\w)?|[()]|\}\}/g;

/** @throws ToolkitError `INVALID_PROMPT` for a template that is nested too deep to be parsed */
function assertDepth(source: TemplateSource): void {
  // The levels of each open block: one, and one more for each `{{else if}}` in it.
  const open: number[] = [];
  let blocks = 0;
  // Parentheses of the current tag; those of the text between tags do not count.
  let parentheses = 0;
  let isInTag = false;
  for (const { 0: mark, index } of source.text.matchAll(depthMarks)) {
    if (mark === "(" && isInTag) parentheses += 1;
    else if (mark === ")" && isInTag) parentheses -= 1;
    else if (mark.length > 1) {
      isInTag = mark !== "}}";
      parentheses = 0;
      if (/[#^]$/.test(mark)) open.push(0);
      if (mark.endsWith("/")) blocks -= open.pop() ?? 0;
      else if (/[#^\w]$/.test(mark) && open.length > 0) {
        open.push((open.pop() ?? 0) + 1);
        blocks += 1;
      }
    }
    if (blocks <= maxDepth && parentheses <= maxDepth) continue;
    const what = `The template is nested deeper than ${maxDepth} levels here.`;
    const hint = "Close blocks and parentheses, or write partials.";
    throw promptProblem(source.file, placeInFile(source, index), what, hint);
  }
}

/** The most characters in the tags of a template, comments excepted: Handlebars takes some microseconds for each name. */
const maxTagLength = 128 * 1024;
/** The most characters that Handlebars may copy for the comments of a template: for each `{{!--` it copies all that follow. */
const maxCopied = 200_000_000;

/** @throws ToolkitError `INVALID_PROMPT` for a template with more tags than can be parsed in time */
function assertTags(source: TemplateSource): void {
  const { text } = source;
  let inTags = 0;
  let copied = 0;
  for (let at = text.indexOf("{{"); at !== -1; ) {
    const end = text.indexOf("}}", at + 2);
    const after = end === -1 ? text.length : end + 2;
    const isComment = text.startsWith("!", at + 2) || text.startsWith("~!", at + 2);
    if (!isComment) inTags += after - at;
    else if (text.startsWith("--", text.indexOf("!", at) + 1)) copied += text.length - at;
    if (inTags > maxTagLength || copied > maxCopied) {
      const what = isComment
        ? "The template has too many comments {{!-- --}} for its length."
        : `The tags of the template have more than ${maxTagLength.toLocaleString("en")} characters.`;
      const hint = isComment ? "Write some as {{! }}, or remove them." : "Write fewer or shorter tags, or partials.";
      throw promptProblem(source.file, placeInFile(source, at), what, hint);
    }
    at = text.indexOf("{{", after);
  }
}

/** A mistake in a template in the words of its author, with its place in the text. */
interface TemplateMistake {
  readonly what: string;
  readonly hint: string;
  readonly line: number;
  readonly column: number;
}

// A tag or comment without an end reaches to the end of the text.
const tags =
  /\{\{~?!--[\s\S]*?(?:--~?\}\}|$)|\{\{~?![\s\S]*?(?:\}\}|$)|\\\{\{|\{\{\{?~?([#^/]?)\s*([^\s}]*)[\s\S]*?(?:\}\}|$)/g;

/** Explains a parse error, of which Handlebars itself says only which token it expected. */
function explainFailure(text: string, failure: ParseFailure): TemplateMistake {
  return findBlockMistake(text) ?? findIndexMistake(text, failure) ?? explainToken(failure);
}

/** An index as most languages write it: `items[0]`. */
function findIndexMistake(text: string, failure: ParseFailure): TemplateMistake | undefined {
  const placeAt = placeFinder(text);
  for (const { 0: tag, index } of text.matchAll(tags)) {
    if (/^(?:\\|\{\{~?!)/.test(tag)) continue;
    const written = /(?<![\w."'])[A-Za-z_][\w.]*(?:\[\w+\][\w.]*)+/.exec(tag);
    if (written === null || !/[^.]\[/.test(written[0])) continue;
    const place = placeAt(index + written.index);
    if (place.line !== failure.line) continue;
    const path = written[0].replace(/(?<!\.)\[/g, ".[");
    const what = `${written[0]} cannot be read: a dot stands before the bracket of an entry.`;
    return { what, hint: `Write ${tag.replace(written[0], path)}.`, ...place };
  }
  return undefined;
}

interface BlockStart {
  readonly name: string;
  readonly offset: number;
}

/** The first block that is not closed, or is closed by another name, or the first tag without an end. */
function findBlockMistake(text: string): TemplateMistake | undefined {
  const open: BlockStart[] = [];
  const at = (offset: number, what: string, hint: string) => ({ what, hint, ...placeOf(text, offset) });
  for (const { 0: tag, index, 1: mark, 2: name = "" } of text.matchAll(tags)) {
    if (/^\{\{~?!--/.test(tag) && !/--~?\}\}$/.test(tag)) {
      return at(index, "A comment starts here and never ends.", "Close it with --}}.");
    }
    if (!tag.startsWith("\\") && !tag.endsWith("}}")) {
      const hint = "Close it with }}, or write \\{{ for two braces that are text.";
      return at(index, "A tag starts here and never ends.", hint);
    }
    if (mark === "#" || (mark === "^" && name !== "")) open.push({ name, offset: index });
    if (mark !== "/") continue;
    const block = open.pop();
    if (block === undefined) {
      const hint = `Write {{#${name} ...}} before it, or remove it.`;
      return at(index, `{{/${name}}} closes a block that was never opened.`, hint);
    }
    if (block.name !== name) {
      const isSameLine = placeOf(text, block.offset).line === placeOf(text, index).line;
      const what = `{{/${name}}} closes the block {{#${block.name}}} of ${isSameLine ? "this line" : "an earlier line"}.`;
      return at(index, what, `Write {{/${block.name}}}.`);
    }
  }
  const last = open.at(-1);
  if (last === undefined) return undefined;
  return at(last.offset, `The block {{#${last.name}}} is never closed.`, `Write {{/${last.name}}} where it ends.`);
}

function explainToken({ message, line, column }: ParseFailure): TemplateMistake {
  const place = { line, column };
  if (/got 'INVERSE'/.test(message)) {
    return { what: "{{else}} stands outside a block.", hint: "Write it between {{#if ...}} and {{/if}}.", ...place };
  }
  const got = /got '(\w+)'/.exec(message)?.[1];
  const what =
    got === "CLOSE"
      ? "The tag ends too early."
      : got === "EOF"
        ? "The text ends inside a block."
        : "This tag cannot be read.";
  const hint =
    "Write {{name}}, {{helper name}} or {{#if name}} ... {{/if}}; two braces that are text are written \\{{.";
  return { what, hint, ...place };
}
