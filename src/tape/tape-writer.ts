import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from "node:fs";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { messageOf, ToolkitError, toError } from "../core/error.ts";
import { invalidOption } from "../core/options.ts";
import type { TapeLine } from "./tape-format.ts";

/** The destination of a tape: the path or `file:` URL of a file, a stream of Node, or a function that gets each line. */
export type TapeTarget = string | URL | Writable | ((line: TapeLine) => void);

/** The bounds of a tape. */
export interface TapeBounds {
  readonly maxLineBytes: number;
  readonly maxBytes: number;
}

interface Sink {
  /** False where it cannot take the line now. */
  write(text: string): boolean;
  close(): Promise<void>;
}

/** So many bytes may wait for a stream that is slow. */
const maxWaiting = 16 * 2 ** 20;

/** Writes the lines of a tape within their bounds. It never throws: a line that cannot be written is counted. */
export class TapeWriter {
  readonly #sink: Sink;
  readonly #bounds: TapeBounds;
  #bytes = 0;
  #lines = 0;
  #dropped = 0;
  #failure: Error | undefined;

  /** @throws ToolkitError `INVALID_CONFIG` for a target that is none, and for a file that cannot be written, or is there and is no tape */
  constructor(target: TapeTarget, bounds: TapeBounds) {
    this.#bounds = bounds;
    this.#sink = sinkOf(target, (error) => this.#fail(error));
  }

  get lines(): number {
    return this.#lines;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** The reason why no more lines are written. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  write(line: TapeLine): void {
    if (this.#failure !== undefined || !this.#take(line)) this.drop();
  }

  /** Counts a line that could not be made. */
  drop(): void {
    this.#dropped += 1;
  }

  close(): Promise<void> {
    return this.#sink.close();
  }

  #take(line: TapeLine): boolean {
    try {
      const text = withinBytes(line, this.#bounds.maxLineBytes);
      const size = Buffer.byteLength(text);
      // The last line says how many are missing: it has its place.
      if (line.type !== "end" && this.#bytes + size > this.#bounds.maxBytes) return false;
      if (!this.#sink.write(text)) return false;
      this.#bytes += size;
      this.#lines += 1;
      return true;
    } catch (error) {
      this.#fail(toError(error));
      return false;
    }
  }

  #fail(error: Error): void {
    this.#failure ??= error;
  }
}

/** The line as text. One that is too long loses its largest members, and says how many bytes they had. */
function withinBytes(line: TapeLine, maxBytes: number): string {
  let fields: Record<string, unknown> = line;
  let cut = 0;
  for (;;) {
    const text = `${JSON.stringify(cut === 0 ? fields : { ...fields, cut })}\n`;
    if (Buffer.byteLength(text) <= maxBytes) return text;
    const [largest] = Object.entries(fields)
      .filter(([name]) => removable.has(name))
      .map(([name, value]) => ({ name, size: Buffer.byteLength(JSON.stringify(value) ?? "") }))
      .sort((one, other) => other.size - one.size);
    if (largest === undefined) throw new RangeError(`A line of the tape has more than ${maxBytes} bytes.`);
    const { [largest.name]: _, ...rest } = fields;
    fields = rest;
    cut += largest.size;
  }
}

/** Members that a line is still one without. */
const removable: ReadonlySet<string> = new Set([
  ...["input", "attachments", "content", "rendered", "request", "answer", "offered", "output", "description", "error"],
  ...["annotations", "options", "added", "removed", "changed", "message", "reason"],
]);

function sinkOf(target: TapeTarget, onFailure: (error: Error) => void): Sink {
  if (typeof target === "function") {
    return {
      write: (text) => {
        target(JSON.parse(text) as TapeLine);
        return true;
      },
      close: async () => undefined,
    };
  }
  if (target instanceof Writable) return streamSink(target, onFailure);
  if (typeof target === "string" && target !== "") return fileSink(target);
  if (target instanceof URL && target.protocol === "file:") return fileSink(fileURLToPath(target));
  throw invalidOption("to", "the path of a file, a stream of Node, or a function", target, "of a recording");
}

function streamSink(stream: Writable, onFailure: (error: Error) => void): Sink {
  // Without a listener an error of the stream would end the process.
  stream.on("error", onFailure);
  return {
    write: (text) => {
      if (stream.writableLength > maxWaiting || stream.destroyed || stream.writableEnded) return false;
      stream.write(text);
      return true;
    },
    close: async () => {
      // It belongs to its owner, who may have more to write: what was written is waited for.
      const { promise, resolve } = Promise.withResolvers<void>();
      if (stream.destroyed || stream.writableEnded) resolve();
      else {
        stream.once("close", resolve);
        stream.write("", () => resolve());
      }
      await promise;
      stream.off("error", onFailure);
    },
  };
}

/** Each line is with the system when `write` returns: a process that dies loses none. */
function fileSink(path: string): Sink {
  let file: number | undefined = openTape(path);
  return {
    write: (text) => {
      if (file === undefined) return false;
      const bytes = Buffer.from(text);
      for (let from = 0; from < bytes.length; ) from += writeSync(file, bytes, from);
      return true;
    },
    close: async () => {
      if (file !== undefined) closeSync(file);
      file = undefined;
    },
  };
}

/** Of an earlier tape nothing is left. Another file is not touched. */
function openTape(path: string): number {
  let file: number | undefined;
  try {
    // A tape holds what was said: it is for its owner alone.
    file = openSync(path, "a+", 0o600);
    if (fstatSync(file).isFile() && fstatSync(file).size > 0) {
      const head = Buffer.alloc(32);
      const read = readSync(file, head, 0, head.length, 0);
      if (!/^\{"type":"tape"/.test(head.toString("utf8", 0, read)))
        throw new Error("it is there, and is no tape: name another file, or remove it");
      ftruncateSync(file);
    }
    return file;
  } catch (error) {
    if (file !== undefined) closeSync(file);
    const message = `The tape ${path} cannot be written: ${messageOf(error)}.`;
    throw new ToolkitError("INVALID_CONFIG", message, { path: "to" }, { cause: error });
  }
}
