import { StringDecoder } from "node:string_decoder";

/** The ends of a message that is too long to be read. */
export interface Overlong {
  readonly head: string;
  readonly tail: string;
  /** The size of the whole, in bytes. */
  readonly size: number;
}

/** So much of either end is kept, in bytes: more than the envelope of an answer takes. */
export const keptBytes = 256;

const newline = 10;

/** The limit of lines, and their handlers. */
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

/** The last bytes of a stream, as text. */
export class OutputTail {
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #size = 0;
  #dropped = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    // Whole chunks go first; the rest is cut when it is read.
    let first = this.#chunks[0];
    while (first !== undefined && this.#size - first.length >= this.#maxBytes) {
      this.#chunks.shift();
      this.#size -= first.length;
      this.#dropped += first.length;
      first = this.#chunks[0];
    }
    if (this.#chunks.length > 1024) this.#chunks = [Buffer.concat(this.#chunks)];
  }

  /** The number of bytes left out before those that are kept. */
  get cutBytes(): number {
    return this.#dropped + Math.max(0, this.#size - this.#maxBytes);
  }

  text(): string {
    const whole = Buffer.concat(this.#chunks);
    const last = whole.subarray(Math.max(0, whole.length - this.#maxBytes));
    // A character cut at the front shows as replacement characters: leave them out.
    let start = 0;
    while (start < 4 && start < last.length && whole.length > last.length && ((last[start] ?? 0) & 0xc0) === 0x80)
      start++;
    return new StringDecoder("utf8").write(last.subarray(start));
  }
}
