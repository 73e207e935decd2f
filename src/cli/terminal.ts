import type { Readable, Writable } from "node:stream";
import { stripVTControlCharacters, styleText } from "node:util";
import stringWidth from "fast-string-width";
import { stripInvisible, visible } from "../lib/visible-text.ts";

/** A style of text, as `styleText` of Node names it. */
export type Style = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** The streams of a command, and the environment it looks into. */
export interface TerminalStreams {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

/**
 * The terminal of a command: results go to stdout, everything else to stderr. Texts of strangers lose what moves the cursor, changes
 * colours or does not show.
 */
export class Terminal {
  readonly streams: TerminalStreams;
  readonly #usesColor: { readonly out: boolean; readonly error: boolean };
  #status = "";

  constructor(streams: TerminalStreams) {
    this.streams = streams;
    const { NO_COLOR, FORCE_COLOR, TERM } = streams.env;
    const wanted = FORCE_COLOR !== undefined && FORCE_COLOR !== "0";
    const isRefused = (NO_COLOR !== undefined && NO_COLOR !== "") || TERM === "dumb" || FORCE_COLOR === "0";
    const uses = (isTTY = false) => !isRefused && (wanted || isTTY);
    this.#usesColor = { out: uses(streams.stdout.isTTY), error: uses(streams.stderr.isTTY) };
  }

  /** A person reads and types: questions can be asked. */
  get isInteractive(): boolean {
    const { stdin, stderr, env } = this.streams;
    return stdin.isTTY === true && stderr.isTTY === true && env.CI === undefined;
  }

  /** The number of columns of a line on stdout; without a terminal there is no end to a line. */
  get width(): number {
    const { isTTY, columns } = this.streams.stdout;
    return isTTY === true ? (columns ?? 80) : Number.POSITIVE_INFINITY;
  }

  /** Text in a style, where stdout shows colours. */
  style(style: Style | readonly Style[], text: string): string {
    return this.#usesColor.out ? styleText(style as Style, text, { validateStream: false }) : text;
  }

  /** Writes lines to stdout. */
  print(text: string): void {
    this.clearStatus();
    this.streams.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
  }

  /** Writes a part of a text to stdout, as it comes. */
  write(text: string): void {
    this.clearStatus();
    this.streams.stdout.write(stripInvisible(text));
  }

  /** Writes a value to stdout as JSON. */
  printJson(value: unknown): void {
    this.print(JSON.stringify(value, undefined, 2) ?? "null");
  }

  /** Writes a line for a person to stderr. */
  note(text: string, style?: Style): void {
    this.clearStatus();
    const shown =
      style === undefined || !this.#usesColor.error ? text : styleText(style, text, { validateStream: false });
    this.streams.stderr.write(`${shown}\n`);
  }

  /** Shows a line that the next output replaces; nothing where stderr is no terminal. */
  status(text: string): void {
    const { stderr } = this.streams;
    if (stderr.isTTY !== true) return;
    this.clearStatus();
    this.#status = truncate(visible(text), (stderr.columns ?? 80) - 1);
    stderr.write(this.#status);
  }

  /** Removes that line. */
  clearStatus(): void {
    if (this.#status === "") return;
    this.#status = "";
    this.streams.stderr.write("\r\u001b[2K");
  }

  /**
   * Rows as columns. The last column takes the rest of the line, and is cut at its end; cells are shown on one line.
   *
   * @param head - the names of the columns
   */
  table(head: readonly string[], rows: readonly (readonly string[])[]): string {
    const cells = rows.map((row) => row.map((cell) => visible(stripVTControlCharacters(cell))));
    const widths = head.map((name, column) =>
      Math.max(stringWidth(name), ...cells.map((row) => stringWidth(row[column] ?? ""))),
    );
    const line = (row: readonly string[]) => {
      const start = row
        .slice(0, -1)
        .map((cell, at) => cell + " ".repeat(Math.max(0, (widths[at] ?? 0) - stringWidth(cell))));
      const text = [...start, row.at(-1) ?? ""].join("  ");
      return truncate(text, this.width).trimEnd();
    };
    return [this.style("bold", line(head)), ...cells.map(line)].join("\n");
  }
}

/** The text, cut to a number of columns; what is cut is shown by an ellipsis. */
function truncate(text: string, columns: number): string {
  if (stringWidth(text) <= columns) return text;
  let kept = "";
  let width = 0;
  for (const { segment } of new Intl.Segmenter(undefined, { granularity: "grapheme" }).segment(text)) {
    width += stringWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}
