interface Waiter {
  resolve(): void;
  reject(reason: unknown): void;
}

/**
 * A condition that many may wait for: it is shut at first, may open and shut any number of times, and may break, until it is repaired. A waiter that stops
 * waiting leaves nothing behind, so that a latch may stay shut for days.
 */
export class Latch {
  readonly #waiting = new Set<Waiter>();
  #open = false;
  #broken: { readonly error: unknown } | undefined;

  /** The number of waiters. */
  get size(): number {
    return this.#waiting.size;
  }

  open(): void {
    this.#open = true;
    for (const waiter of this.#waiting) waiter.resolve();
  }

  shut(): void {
    this.#open = false;
  }

  /** Rejects all waiters, now and from now on. */
  break(error: unknown): void {
    this.#broken = { error };
    for (const waiter of this.#waiting) waiter.reject(error);
  }

  /** It is broken no more: waiters wait again. */
  repair(): void {
    this.#broken = undefined;
  }

  /** Resolves when it is open; rejects when it breaks, or with the reason of the first signal that aborts. */
  wait(...signals: readonly (AbortSignal | undefined)[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const given = signals.filter((signal) => signal !== undefined);
      const aborted = given.find((signal) => signal.aborted);
      if (aborted !== undefined) return reject(aborted.reason);
      if (this.#broken !== undefined) return reject(this.#broken.error);
      if (this.#open) return resolve();
      const onAbort = ({ target }: Event) => waiter.reject((target as AbortSignal).reason);
      const leave = () => {
        this.#waiting.delete(waiter);
        for (const signal of given) signal.removeEventListener("abort", onAbort);
      };
      const waiter: Waiter = {
        resolve: () => {
          leave();
          resolve();
        },
        reject: (reason) => {
          leave();
          reject(reason);
        },
      };
      this.#waiting.add(waiter);
      for (const signal of given) signal.addEventListener("abort", onAbort);
    });
  }
}
