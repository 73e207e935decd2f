import { ToolkitError } from "../../../core/error.ts";

const newline = 10;

/**
 * Cuts a stream of bytes into lines of text. Each byte is copied at most once, however the chunks fall.
 */
export class LineReader {
  readonly #maxBytes: number;
  readonly #onLine: (line: string) => void;
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(options: { readonly maxBytes: number; readonly onLine: (line: string) => void }) {
    this.#maxBytes = options.maxBytes;
    this.#onLine = options.onLine;
  }

  /** @throws ToolkitError `LIMIT_EXCEEDED` for a line longer than allowed */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#line(chunk, start, end);
      start = end + 1;
    }
    if (start === chunk.length) return;
    this.#pieces.push(start === 0 ? chunk : chunk.subarray(start));
    this.#size += chunk.length - start;
    this.#check(this.#size);
  }

  #line(chunk: Buffer, start: number, end: number): void {
    this.#check(this.#size + end - start);
    if (this.#size === 0) {
      this.#onLine(chunk.toString("utf8", start, end));
      return;
    }
    this.#pieces.push(chunk.subarray(start, end));
    const whole = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#size = 0;
    this.#onLine(whole.toString("utf8"));
  }

  #check(size: number): void {
    if (size <= this.#maxBytes) return;
    this.#pieces = [];
    this.#size = 0;
    throw new ToolkitError(
      "LIMIT_EXCEEDED",
      `A message is larger than maxMessageBytes (${this.#maxBytes}). Raise the limit, or ask the server for less at once.`,
      { limit: "maxMessageBytes", max: this.#maxBytes, actual: size },
    );
  }
}
