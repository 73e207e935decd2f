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

  /** True where nothing happened within the window, so that it says as much as a new one. */
  isIdle(now: number): boolean {
    const newest = this.#times.at(this.#oldest - 1);
    return newest === undefined || newest + this.windowMs <= now;
  }
}

/** The number of windows from which on idle ones are looked for. */
const minSweep = 1_000;

/** A sliding window for each owner. Idle ones are forgotten, so that owners who come once cost no memory for ever. */
export class OwnedWindows {
  readonly max: number;
  readonly windowMs: number;
  readonly #byOwner = new Map<string, SlidingWindow>();
  #sweepAt = minSweep;

  constructor(max: number, windowMs: number) {
    this.max = max;
    this.windowMs = windowMs;
  }

  /** The number of owners that are remembered. */
  get size(): number {
    return this.#byOwner.size;
  }

  /** As `waitMs` of the owner's window. */
  waitMs(owner: string, now: number): number {
    return this.#byOwner.get(owner)?.waitMs(now) ?? 0;
  }

  /** One of the owner's has happened. */
  spend(owner: string, now: number): void {
    let window = this.#byOwner.get(owner);
    if (window === undefined) {
      if (this.#byOwner.size >= this.#sweepAt) this.#sweep(now);
      window = new SlidingWindow(this.max, this.windowMs);
      this.#byOwner.set(owner, window);
    }
    window.spend(now);
  }

  #sweep(now: number): void {
    for (const [owner, window] of this.#byOwner) if (window.isIdle(now)) this.#byOwner.delete(owner);
    this.#sweepAt = Math.max(minSweep, this.#byOwner.size * 2);
  }
}
