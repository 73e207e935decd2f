import type { IncomingMessage } from "node:http";
import { pipeline, type Readable } from "node:stream";
import { decodersOf } from "./decoding.ts";
import type { NodeRequest } from "./request.ts";

// So much is read ahead of the one who reads the stream.
const aheadBytes = 64 * 1024;
const nullBodyStatuses: ReadonlySet<number | undefined> = new Set([204, 205, 304]);

/** The body of an answer, decoded, to be read once. */
export class Body {
  readonly #message: IncomingMessage;
  readonly #signal: AbortSignal | undefined;
  readonly #decoded: Readable;
  /** Whether somebody reads it. */
  taken = false;

  private constructor(message: IncomingMessage, signal: AbortSignal | undefined) {
    this.#message = message;
    this.#signal = signal;
    const decoders = decodersOf(message);
    this.#decoded = decoders.at(-1) ?? message;
    // What goes wrong in the middle ends the last one, which is listened to.
    if (decoders.length > 0) pipeline([message, ...decoders], () => {});
  }

  /** Undefined where an answer has none. */
  static of(message: IncomingMessage, { method, signal }: NodeRequest): Body | undefined {
    if (method !== "HEAD" && !nullBodyStatuses.has(message.statusCode)) return new Body(message, signal);
    message.resume();
    return undefined;
  }

  /**
   * Hands on its bytes as they come, to the end.
   *
   * @throws the signal's reason, TypeError where it breaks off, or what `take` throws: then the connection is ended
   */
  each(take: (chunk: Uint8Array) => void): Promise<void> {
    const decoded = this.#decoded;
    this.taken = true;
    return new Promise((resolve, reject) => {
      let ended = false;
      const fail = (error: Error) => reject(this.#reason(error));
      decoded.on("error", fail);
      decoded.once("end", () => {
        ended = true;
        // A request that is aborted drops what it has, and ends as if that were all.
        if (this.#signal?.aborted) fail(new Error("aborted"));
        else resolve();
      });
      const closed = () => ended || fail(decoded.errored ?? new Error("the answer broke off"));
      if (decoded.destroyed || decoded.readableEnded) closed();
      else decoded.once("close", closed);
      decoded.on("data", (chunk: Uint8Array) => {
        try {
          take(chunk);
        } catch (error) {
          reject(error);
          this.#message.destroy();
        }
      });
    });
  }

  /** As a stream of the platform, which begins when it is read: while nobody reads on, the server has to wait. */
  stream(): ReadableStream<Uint8Array> {
    const decoded = this.#decoded;
    let over = false;
    const begin = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      const reading = this.each((chunk) => {
        if (over) return;
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= -aheadBytes) decoded.pause();
      });
      reading.then(
        () => over || controller.close(),
        (error) => over || controller.error(error),
      );
    };
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
      if (!this.taken) begin(controller);
      else if (decoded.isPaused()) decoded.resume();
    };
    const cancel = () => {
      over = true;
      this.#end();
    };
    return new ReadableStream<Uint8Array>({ pull, cancel }, { highWaterMark: 0, size: ({ byteLength }) => byteLength });
  }

  #end(): void {
    // A connection whose answer is there is used again.
    if (this.#message.complete) this.#decoded.resume();
    else this.#message.destroy();
  }

  #reason(cause: Error): unknown {
    const signal = this.#signal;
    return signal?.aborted === true ? signal.reason : new TypeError("terminated", { cause });
  }
}
