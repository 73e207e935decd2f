import type { Clock, Timer } from "./clock.ts";

/** How requests are joined. */
export interface CoalesceOptions {
  /** How long to wait for more of a burst. */
  readonly delayMs: number;
  readonly clock: Clock;
  /** Told what the task threw. */
  onError(error: unknown): void;
}

/**
 * Joins bursts of requests: a task runs once for all keys that were asked for while it waited, never twice at a time, and once more
 * for what was asked while it ran.
 */
export class Coalescer<Key> {
  readonly #run: (keys: ReadonlySet<Key>) => Promise<void>;
  readonly #options: CoalesceOptions;
  #wanted = new Set<Key>();
  #timer: Timer | undefined;
  #running = false;
  #stopped = false;

  constructor(run: (keys: ReadonlySet<Key>) => Promise<void>, options: CoalesceOptions) {
    this.#run = run;
    this.#options = options;
  }

  /** Asks for a key. It runs after `delayMs`, together with what else is asked for until then. */
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
    }, this.#options.delayMs);
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
      this.#schedule();
    }
  }
}
