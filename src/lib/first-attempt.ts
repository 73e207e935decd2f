import type { Clock, Timer } from "./clock.ts";

/** Whether something has come to an end for the first time, such as a first attempt, and how long that is waited for. */
export class FirstAttempt {
  readonly #settled = Promise.withResolvers<void>();
  #isSettled = false;
  #patience: Timer | undefined;

  /** Calls `onLate`, and settles, unless it has settled within so many milliseconds. */
  limit(clock: Clock, limitMs: number, onLate?: () => void): void {
    this.#patience = clock.setTimer(() => {
      onLate?.();
      this.settle();
    }, limitMs);
  }

  settle(): void {
    this.#patience?.cancel();
    this.#isSettled = true;
    this.#settled.resolve();
  }

  /** Undefined once it has settled; else a promise that resolves when it has. */
  get pending(): Promise<void> | undefined {
    if (this.#isSettled) return undefined;
    // The process must not end while a caller waits.
    this.#patience?.keepAlive(true);
    return this.#settled.promise;
  }
}
