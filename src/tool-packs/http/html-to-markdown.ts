import { setImmediate as turn } from "node:timers/promises";
import { Parser } from "htmlparser2";
import { MarkdownWriter } from "./markdown-writer.ts";

/** Characters that are parsed before other work has its turn. */
const charactersPerTurn = 64 * 1_024;
/** A page that is nested deeper is refused: the parser looks for the element that an end tag closes, from the innermost to the outermost. */
const maxDepth = 500;

/** The reason why a page was not turned into Markdown. */
export class NestedTooDeep extends Error {
  readonly max = maxDepth;

  constructor() {
    super(`its elements are nested deeper than ${maxDepth} levels`);
  }
}

/**
 * The text of an HTML page as Markdown: headings, lists, links, code, quotes and tables. What a reader does not see, such as scripts, styles and
 * hidden elements, is left out.
 *
 * @param base - of relative links
 * @throws NestedTooDeep
 */
export async function htmlToMarkdown(html: string, base: URL, signal: AbortSignal): Promise<string> {
  const writer = new MarkdownWriter(base);
  let depth = 0;
  const parser = new Parser({
    onopentag: (name, attributes) => {
      depth += 1;
      if (depth > maxDepth) throw new NestedTooDeep();
      writer.open(name, attributes);
    },
    ontext: (text) => writer.text(text),
    onclosetag: (name) => {
      depth -= 1;
      writer.close(name);
    },
  });
  for (let at = 0; at < html.length; at += charactersPerTurn) {
    parser.write(html.slice(at, at + charactersPerTurn));
    await turn();
    signal.throwIfAborted();
  }
  parser.end();
  return writer.end();
}
