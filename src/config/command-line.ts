import { ToolkitError } from "../core/error.ts";

/** A server as one text names it. */
export type NamedServer = { readonly url: string } | { readonly command: string; readonly args: string[] };

/**
 * Reads a server that is written as one text: a URL, else a command line with the quotes of a shell, of which nothing else is understood.
 *
 * @throws ToolkitError `INVALID_TARGET` for an empty one, or a quote that is not closed
 */
export function commandLine(text: string): NamedServer {
  if (/^https?:\/\//i.test(text.trim())) return { url: text.trim() };
  const [command, ...args] = wordsOf(text);
  if (command === undefined || command === "") {
    const message =
      "The server is empty: write a URL such as https://host/mcp, or a command such as npx -y some-server.";
    throw new ToolkitError("INVALID_TARGET", message, { target: text });
  }
  return { command, args };
}

const word = /(?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+/gy;
const piece = /\\([\s\S])|"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|([^\s"'\\]+)/g;

function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  let at = 0;
  for (;;) {
    at += /^\s*/.exec(text.slice(at))?.[0].length ?? 0;
    if (at >= text.length) return words;
    word.lastIndex = at;
    const [found] = word.exec(text) ?? [];
    if (found === undefined) {
      const message = `The command has a quote that is not closed: ${text}`;
      throw new ToolkitError("INVALID_TARGET", message, { target: text });
    }
    words.push(
      found.replace(
        piece,
        (_, escaped, double, single, plain) =>
          escaped ?? (double === undefined ? (single ?? plain) : double.replace(/\\(["\\$`])/g, "$1")),
      ),
    );
    at += found.length;
  }
}
