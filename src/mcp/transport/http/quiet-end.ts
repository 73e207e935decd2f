// Once nobody listens there, how long those who are asking have to be told so themselves.
const endMs = 100;

/**
 * Ends a connection when those who are asking have been answered or refused, so that each says itself whether it was sent; after
 * 100 ms at the latest.
 */
export class QuietEnd {
  readonly #end: (error: Error) => void;
  #asking = 0;
  #ending: { readonly error: Error; readonly timer: NodeJS.Timeout } | undefined;

  /** @param end - is called once or several times, and ends the connection the first time */
  constructor(end: (error: Error) => void) {
    this.#end = end;
  }

  /** Why it is ending; undefined while it is not. */
  get error(): Error | undefined {
    return this.#ending?.error;
  }

  /** Somebody asks, until the promise settles. */
  async during<T>(asking: () => Promise<T>): Promise<T> {
    this.#asking += 1;
    try {
      return await asking();
    } finally {
      this.#asking -= 1;
      this.#whenQuiet();
    }
  }

  /** Nobody listens there any more. Only the first reason counts. */
  begin(error: Error): void {
    if (this.#ending !== undefined) return;
    this.#ending = { error, timer: setTimeout(() => this.#end(error), endMs) };
    this.#whenQuiet();
  }

  /** It has ended. */
  stop(): void {
    clearTimeout(this.#ending?.timer);
  }

  #whenQuiet(): void {
    const ending = this.#ending;
    // Later, so that the last one is heard before.
    if (ending !== undefined && this.#asking === 0) setImmediate(() => this.#end(ending.error));
  }
}
