import type { Clock, Timer } from "../lib/clock.ts";

/** A timer that has not fired. */
interface Pending {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that only a test advances. */
export interface VirtualClock extends Clock {
  /** The number of set timers. */
  readonly timers: number;
  /** The number of timers that would keep a process alive. */
  readonly keptAlive: number;
  /** The time until the next timer, in milliseconds; undefined without one. */
  readonly nextInMs: number | undefined;
  /**
   * Advances the time: every due timer fires at its own time, in order, also one that is set on the way. Between two timers, and at the
   * end, all ready promises run, and those that they make ready. I/O is not awaited.
   */
  advance(ms: number): Promise<void>;
  /** Advances the time without running anything, as on a machine that sleeps: due timers fire late, with the next `advance`. */
  stall(ms: number): void;
}

/**
 * Makes a clock for `new Toolkit({ clock })` that stands still until `advance` is called.
 *
 * @param now - its start, in milliseconds since the epoch
 * @example
 * ```ts
 * const clock = virtualClock();
 * const toolkit = new Toolkit({ items: [slowTool], timeoutMs: 1_000, clock });
 * const calling = expect(toolkit.call("slow")).rejects.toMatchObject({ code: "TIMEOUT" });
 * await clock.advance(1_000);
 * await calling;
 * ```
 */
export function virtualClock(now = 1_000_000): VirtualClock {
  return new StandingClock(now);
}

class StandingClock implements VirtualClock {
  #now: number;
  #order = 0;
  readonly #pending = new Set<Pending>();
  readonly #keptAlive = new Set<Pending>();

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const pending: Pending = { at: this.#now + Math.max(0, delayMs), order: this.#order++, callback };
    this.#pending.add(pending);
    return {
      cancel: () => this.#drop(pending),
      keepAlive: (keep) => {
        if (keep && this.#pending.has(pending)) this.#keptAlive.add(pending);
        else this.#keptAlive.delete(pending);
      },
    };
  }

  get timers(): number {
    return this.#pending.size;
  }

  get keptAlive(): number {
    return this.#keptAlive.size;
  }

  get nextInMs(): number | undefined {
    const next = this.#next();
    return next === undefined ? undefined : next.at - this.#now;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#now = Math.max(this.#now, next.at);
      this.#drop(next);
      next.callback();
      await settle();
    }
    this.#now = end;
  }

  stall(ms: number): void {
    this.#now += ms;
  }

  #next(): Pending | undefined {
    let first: Pending | undefined;
    for (const pending of this.#pending) {
      if (first === undefined || pending.at < first.at || (pending.at === first.at && pending.order < first.order)) {
        first = pending;
      }
    }
    return first;
  }

  #drop(pending: Pending): void {
    this.#pending.delete(pending);
    this.#keptAlive.delete(pending);
  }
}

/** Runs all ready promises, and those that they make ready. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}
