import { placeOf } from "../problem.ts";
import type { ParseFailure } from "./engine.ts";

/** A parse failure in the words of a prompt author, with its place in the text. */
export interface ExplainedFailure {
  readonly what: string;
  readonly hint: string;
  readonly line: number;
  readonly column: number;
}

const tags = /\{\{~?!--[\s\S]*?--~?\}\}|\{\{~?![\s\S]*?\}\}|\\\{\{|\{\{\{?~?([#^/]?)\s*([^\s}]*)[\s\S]*?\}\}|(\{\{)/g;

interface OpenBlock {
  readonly name: string;
  readonly offset: number;
}

/** Says what is wrong where Handlebars speaks of tokens. */
export function explainParseFailure(text: string, failure: ParseFailure): ExplainedFailure {
  return blockProblem(text) ?? indexProblem(text, failure) ?? generalProblem(failure);
}

/** `items[0]`, as most languages write it. */
function indexProblem(text: string, failure: ParseFailure): ExplainedFailure | undefined {
  for (const { 0: tag, index } of text.matchAll(tags)) {
    if (/^(?:\\|\{\{~?!)/.test(tag)) continue;
    const written = /(?<![\w."'])[A-Za-z_][\w.]*(?:\[\w+\][\w.]*)+/.exec(tag);
    if (written === null || !/[^.]\[/.test(written[0])) continue;
    const place = placeOf(text, index + written.index);
    if (place.line !== failure.line) continue;
    const path = written[0].replace(/(?<!\.)\[/g, ".[");
    const what = `${written[0]} cannot be read: a dot stands before the bracket of an entry.`;
    return { what, hint: `Write ${tag.replace(written[0], path)}.`, ...place };
  }
  return undefined;
}

/** The first block that is not closed, or is closed by another, or tag without an end. */
function blockProblem(text: string): ExplainedFailure | undefined {
  const open: OpenBlock[] = [];
  const at = (offset: number, what: string, hint: string) => ({ what, hint, ...placeOf(text, offset) });
  for (const { index, 1: mark, 2: name = "", 3: unclosed } of text.matchAll(tags)) {
    if (unclosed !== undefined) {
      return at(
        index,
        "A tag starts here and never ends.",
        "Close it with }}, or write \\{{ for two braces that are text.",
      );
    }
    if (mark === "#" || (mark === "^" && name !== "")) open.push({ name, offset: index });
    if (mark !== "/") continue;
    const block = open.pop();
    if (block === undefined) {
      return at(
        index,
        `{{/${name}}} closes a block that was never opened.`,
        `Write {{#${name} ...}} before it, or remove it.`,
      );
    }
    if (block.name !== name) {
      const opened = placeOf(text, block.offset);
      const what = `{{/${name}}} closes the block {{#${block.name}}} of ${opened.line === placeOf(text, index).line ? "this line" : "an earlier line"}.`;
      return at(index, what, `Write {{/${block.name}}}.`);
    }
  }
  const last = open.at(-1);
  if (last === undefined) return undefined;
  return at(last.offset, `The block {{#${last.name}}} is never closed.`, `Write {{/${last.name}}} where it ends.`);
}

function generalProblem({ message, line, column }: ParseFailure): ExplainedFailure {
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
