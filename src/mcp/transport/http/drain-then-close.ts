// How long requests that wait for their answers may take to fail by themselves.
const limitMs = 100;

/**
 * Closes a connection whose server is gone, once the requests that are being sent have been answered or refused, so that the error of
 * each says whether it was sent; after 100 ms at the latest.
 */
export class DrainThenClose {
  readonly #close: (error: Error) => void;
  #sending = 0;
  #closing: { readonly error: Error; readonly timer: NodeJS.Timeout } | undefined;

  /** @param close - is called once or several times, and closes the connection the first time */
  constructor(close: (error: Error) => void) {
    this.#close = close;
  }

  /** The reason of the closing; undefined while there is none. */
  get error(): Error | undefined {
    return this.#closing?.error;
  }

  /** A request is being sent; `leave` says when it is answered or refused. */
  enter(): void {
    this.#sending += 1;
  }

  leave(): void {
    this.#sending -= 1;
    if (this.#closing !== undefined) this.#whenDrained(this.#closing.error);
  }

  /** The server is gone. Only the first reason counts. */
  begin(error: Error): void {
    if (this.#closing !== undefined) return;
    this.#closing = { error, timer: setTimeout(() => this.#close(error), limitMs) };
    this.#whenDrained(error);
  }

  /** The connection is closed. */
  stop(): void {
    clearTimeout(this.#closing?.timer);
  }

  #whenDrained(error: Error): void {
    // A turn later, so that the error of the last request is handled before.
    if (this.#sending === 0) setImmediate(() => this.#close(error));
  }
}
