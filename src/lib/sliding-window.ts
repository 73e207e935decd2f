/**
 * Counts what happens in a window that slides: in any `windowMs` there are at most `max`. It keeps a time for each of the last `max`,
 * so that the bound is exact and the wait for the next is known.
 */
export class SlidingWindow {
  readonly max: number;
  readonly windowMs: number;
  // A ring, the oldest at `#oldest` once it is full.
  readonly #times: number[] = [];
  #oldest = 0;

  constructor(max: number, windowMs: number) {
    this.max = max;
    this.windowMs = windowMs;
  }

  /** The wait until one more may happen, in milliseconds; 0 where it may now. */
  waitMs(now: number): number {
    if (this.#times.length < this.max) return 0;
    return Math.max(0, (this.#times[this.#oldest] ?? 0) + this.windowMs - now);
  }

  /** One has happened. */
  spend(now: number): void {
    if (this.#times.length < this.max) {
      this.#times.push(now);
      return;
    }
    this.#times[this.#oldest] = now;
    this.#oldest = (this.#oldest + 1) % this.max;
  }
}
