import { keptBytes, type Overlong } from "../../rpc/overlong.ts";

const newline = 10;

/** How lines are cut, and who hears of them. */
export interface LineReaderOptions {
  readonly maxBytes: number;
  readonly onLine: (line: string) => void;
  /** A line was longer than allowed. It has been skipped to its end. */
  readonly onOverlong?: ((line: Overlong) => void) | undefined;
}

/**
 * Cuts a stream of bytes into lines of text. Each byte is copied at most once, however the chunks fall. Of a line that is too long no
 * more than its ends are kept.
 */
export class LineReader {
  readonly #options: LineReaderOptions;
  #pieces: Buffer[] = [];
  #size = 0;
  #skipped: { readonly head: string; tail: Buffer } | undefined;

  constructor(options: LineReaderOptions) {
    this.#options = options;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      this.#line(chunk, start, end);
      start = end + 1;
    }
    if (start < chunk.length) this.#take(start === 0 ? chunk : chunk.subarray(start));
  }

  #line(chunk: Buffer, start: number, end: number): void {
    const { maxBytes, onLine, onOverlong } = this.#options;
    if (this.#size === 0 && end - start <= maxBytes) {
      onLine(chunk.toString("utf8", start, end));
      return;
    }
    this.#take(chunk.subarray(start, end));
    const pieces = this.#pieces;
    const size = this.#size;
    const skipped = this.#skipped;
    this.#pieces = [];
    this.#size = 0;
    this.#skipped = undefined;
    if (skipped === undefined) onLine(Buffer.concat(pieces).toString("utf8"));
    else onOverlong?.({ head: skipped.head, tail: skipped.tail.toString("utf8"), size });
  }

  #take(piece: Buffer): void {
    this.#size += piece.length;
    if (this.#skipped !== undefined) {
      this.#skipped.tail = end(this.#skipped.tail, piece);
      return;
    }
    this.#pieces.push(piece);
    if (this.#size <= this.#options.maxBytes) return;
    const whole = Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#skipped = { head: whole.toString("utf8", 0, keptBytes), tail: end(Buffer.alloc(0), whole) };
  }
}

/** The last bytes of both, in memory of their own. */
function end(before: Buffer, piece: Buffer): Buffer {
  if (piece.length >= keptBytes) return Buffer.from(piece.subarray(-keptBytes));
  return Buffer.concat([before, piece]).subarray(-keptBytes);
}
