import type { Clock, Timer } from "./clock.ts";

/** The options of joining requests. */
export interface CoalesceOptions {
  /** The wait for more requests of a burst, in milliseconds. */
  readonly delayMs: number;
  /**
   * The longest gap between two runs, in milliseconds. While requests go on without a rest, each gap is twice the one before. Default:
   * `delayMs`.
   */
  readonly maxDelayMs?: number | undefined;
  readonly clock: Clock;
  /** Called with the error of a failed task. */
  onError(error: unknown): void;
}

/** Requests that stay away so long after a run are no part of what was before it. */
const restMs = 1_000;

/**
 * Joins bursts of requests: a task runs once for all keys that were asked for while it waited, never twice at a time, and once more
 * for what was asked while it ran. However many requests come, the last of them has a run that begins after it.
 */
export class Coalescer<Key> {
  readonly #run: (keys: ReadonlySet<Key>) => Promise<void>;
  readonly #options: CoalesceOptions;
  #wanted = new Set<Key>();
  #timer: Timer | undefined;
  #running = false;
  #stopped = false;
  #ranAt = Number.NEGATIVE_INFINITY;
  #gapMs = 0;

  constructor(run: (keys: ReadonlySet<Key>) => Promise<void>, options: CoalesceOptions) {
    this.#run = run;
    this.#options = options;
  }

  /** Asks for a key. It runs after `delayMs`, or later where there were many, together with what else is asked for until then. */
  request(key: Key): void {
    if (this.#stopped) return;
    this.#wanted.add(key);
    this.#schedule();
  }

  /** Drops whatever waits; what runs ends by itself. */
  stop(): void {
    this.#stopped = true;
    this.#wanted.clear();
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #schedule(): void {
    if (this.#running || this.#timer !== undefined || this.#wanted.size === 0) return;
    this.#timer = this.#options.clock.setTimer(() => {
      this.#timer = undefined;
      void this.#flush();
    }, this.#nextDelayMs());
  }

  #nextDelayMs(): number {
    const { delayMs, maxDelayMs = delayMs, clock } = this.#options;
    const sinceMs = clock.now() - this.#ranAt;
    this.#gapMs = sinceMs > this.#gapMs + restMs ? delayMs : Math.min(maxDelayMs, 2 * this.#gapMs);
    return Math.max(delayMs, this.#gapMs - sinceMs);
  }

  async #flush(): Promise<void> {
    const keys = this.#wanted;
    this.#wanted = new Set();
    this.#running = true;
    try {
      await this.#run(keys);
    } catch (error) {
      this.#options.onError(error);
    } finally {
      this.#running = false;
      this.#ranAt = this.#options.clock.now();
      this.#schedule();
    }
  }
}
