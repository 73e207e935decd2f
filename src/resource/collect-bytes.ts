import { isReadable } from "node:stream";
import { ToolkitError } from "../core/error.ts";
import { abortable } from "../lib/promise.ts";
import { typeName } from "../lib/value.ts";
import { closeIterator } from "./parts.ts";

/** A stream of bytes: of the web, of Node, or any async iterable. Strings among the chunks stand for their UTF-8. */
export type ByteStream = ReadableStream<Uint8Array> | NodeJS.ReadableStream | AsyncIterable<Uint8Array | string>;

/** The options of collecting bytes. */
export interface CollectOptions {
  /** The name of the source, for messages. */
  readonly what: string;
  readonly maxBytes: number;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads a stream to its end. Where it fails, is too long or the signal aborts, the stream is destroyed.
 *
 * @throws ToolkitError `LIMIT_EXCEEDED` beyond `maxBytes`, `INVALID_INPUT` for a chunk that is no bytes; what the stream throws; the
 *   signal's reason when it aborts
 */
export async function collectBytes(stream: ByteStream, options: CollectOptions): Promise<Uint8Array> {
  const { maxBytes, signal } = options;
  const source = open(stream);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      signal?.throwIfAborted();
      const { done, value } = await abortable(source.next(), signal);
      if (done === true) return join(chunks, size);
      const chunk = toBytes(value, options.what);
      size += chunk.length;
      if (size > maxBytes) throw tooLarge(options.what, maxBytes);
      chunks.push(chunk);
    }
  } catch (error) {
    source.close();
    throw error;
  }
}

/**
 * The error of bytes that are too many.
 *
 * @param option - the option that has the limit, in the words of who sets it
 * @internal
 */
export function tooLarge(
  what: string,
  maxBytes: number,
  actual?: number,
  option = "maxBytes",
): ToolkitError<"LIMIT_EXCEEDED"> {
  const size = actual === undefined ? "has more than" : `has ${actual} bytes, more than`;
  return new ToolkitError("LIMIT_EXCEEDED", `${what} ${size} the ${maxBytes} bytes allowed. Raise ${option}.`, {
    limit: option,
    max: maxBytes,
    ...(actual === undefined ? {} : { actual }),
  });
}

interface Source {
  next(): Promise<IteratorResult<unknown>>;
  /** Ends it, whatever it is doing, and waits for nothing. */
  close(): void;
}

function open(stream: ByteStream): Source {
  if (stream instanceof ReadableStream) {
    // An iterator could not be closed while it waits for a chunk; a reader can.
    const reader = stream.getReader();
    return {
      next: async () => (await reader.read()) as IteratorResult<unknown>,
      close: () => void reader.cancel().catch(() => undefined),
    };
  }
  const iterator = (stream as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  return {
    next: async () => iterator.next(),
    close() {
      if (isReadable(stream as NodeJS.ReadableStream) !== null) (stream as { destroy?: () => void }).destroy?.();
      else closeIterator(iterator);
    },
  };
}

function toBytes(chunk: unknown, what: string): Uint8Array {
  if (typeof chunk === "string") return new TextEncoder().encode(chunk);
  if (chunk instanceof Uint8Array) return chunk;
  const message = `a chunk of it is ${typeName(chunk)}, not bytes or a string`;
  throw new ToolkitError("INVALID_INPUT", `${what} cannot be read: ${message}.`, {
    issues: [{ pointer: "", message }],
  });
}

function join(chunks: readonly Uint8Array[], size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
