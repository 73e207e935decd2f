import { StringDecoder } from "node:string_decoder";

/** The last bytes of a stream, as text. */
export class Tail {
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

  /** How many bytes were left out before what is kept. */
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
