import type { IncomingMessage } from "node:http";
import { pipeline, type Readable } from "node:stream";
import { decodersOf } from "./decoding.ts";
import type { NodeRequest } from "./request.ts";

// So much is read ahead: a short answer is there at once, and its connection free.
const aheadBytes = 64 * 1024;
const nullBodyStatuses: ReadonlySet<number | undefined> = new Set([204, 205, 304]);

/** The body of an answer, decoded; null where there is none. It breaks off with the signal's reason. */
export function bodyOf(message: IncomingMessage, { method, signal }: NodeRequest): ReadableStream<Uint8Array> | null {
  if (method === "HEAD" || nullBodyStatuses.has(message.statusCode)) {
    message.resume();
    return null;
  }
  const decoders = decodersOf(message);
  const decoded = decoders.at(-1) ?? message;
  // What goes wrong in the middle ends the last one, which is listened to.
  if (decoders.length > 0) pipeline([message, ...decoders], () => {});
  return new ReadableStream(new Body(decoded, message, signal), { highWaterMark: aheadBytes, size: byteLengthOf });
}

/** What is read of an answer as it is asked for: while nobody reads, the server has to wait. */
class Body {
  readonly #decoded: Readable;
  readonly #message: IncomingMessage;
  readonly #signal: AbortSignal | undefined;
  #over = false;

  constructor(decoded: Readable, message: IncomingMessage, signal: AbortSignal | undefined) {
    this.#decoded = decoded;
    this.#message = message;
    this.#signal = signal;
  }

  start(controller: ReadableStreamDefaultController<Uint8Array>): void {
    const decoded = this.#decoded;
    const end = (how: () => void) => {
      if (!this.#over) how();
      this.#over = true;
    };
    const fail = (error: Error) => end(() => controller.error(this.#reason(error)));
    decoded.on("data", (chunk: Uint8Array) => {
      if (this.#over) return;
      controller.enqueue(chunk);
      if ((controller.desiredSize ?? 0) <= 0) decoded.pause();
    });
    // A request that is aborted drops what it has, and ends as if that were all.
    decoded.once("end", () => (this.#signal?.aborted ? fail(new Error("aborted")) : end(() => controller.close())));
    decoded.on("error", fail);
    decoded.once("close", () => fail(new Error("the answer broke off")));
  }

  pull(): void {
    if (this.#decoded.isPaused()) this.#decoded.resume();
  }

  cancel(): void {
    this.#over = true;
    // A connection whose answer is there is used again.
    if (this.#message.complete) this.#decoded.resume();
    else this.#message.destroy();
  }

  #reason(cause: Error): unknown {
    const signal = this.#signal;
    return signal?.aborted === true ? signal.reason : new TypeError("terminated", { cause });
  }
}

function byteLengthOf(chunk: Uint8Array): number {
  return chunk.byteLength;
}
