import type { Clock, Timer } from "./clock.ts";

/** The most events in a length of time. */
export interface RateWindowOptions {
  readonly clock: Clock;
  readonly windowMs: number;
  /** So much in each window. */
  readonly max: number;
  /** Called when a window is over in which something was held back. */
  over(): void;
}

/** Counts what happens, and says when it is too much. It has a timer only while something is held back. */
export class RateWindow {
  readonly #options: RateWindowOptions;
  #since = Number.NEGATIVE_INFINITY;
  #count = 0;
  #timer: Timer | undefined;

  constructor(options: RateWindowOptions) {
    this.#options = options;
  }

  /** True where one more may happen now. */
  admit(): boolean {
    const { clock, windowMs, max } = this.#options;
    const now = clock.now();
    if (this.#timer === undefined && now - this.#since >= windowMs) {
      this.#since = now;
      this.#count = 0;
    }
    if (this.#count < max) {
      this.#count += 1;
      return true;
    }
    this.#timer ??= clock.setTimer(() => this.#over(), Math.max(0, this.#since + windowMs - now));
    return false;
  }

  /** Ends the window; `over` is not called any more. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #over(): void {
    this.#timer = undefined;
    this.#since = Number.NEGATIVE_INFINITY;
    this.#options.over();
  }
}
