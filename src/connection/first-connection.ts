import type { Clock, Timer } from "../lib/clock.ts";
import { FirstAttempt } from "../lib/first-attempt.ts";

/** Time after which a first attempt is reported as slow, in milliseconds. */
const slowMs = 5_000;

/** The parts that a first connection works with. */
export interface FirstConnectionHost {
  readonly clock: Clock;
  /** Time that lookups and `start` wait for it, in milliseconds. */
  readonly startTimeoutMs: number;
  /** Reports that it still lasts, and how long it has, in milliseconds. */
  report(elapsedMs: number): void;
}

/**
 * The first attempt of a connection, for those who wait for it: lookups and `start` for a limited time, calls until it has ended. It is
 * reported while it lasts, after 5 seconds and each time that it has lasted twice as long.
 */
export class FirstConnection {
  readonly #host: FirstConnectionHost;
  readonly #lookups = new FirstAttempt();
  readonly #calls = new FirstAttempt();
  #report: Timer | undefined;

  constructor(host: FirstConnectionHost) {
    this.#host = host;
  }

  start(): void {
    const { clock, startTimeoutMs } = this.#host;
    this.#lookups.limit(clock, startTimeoutMs);
    // Without an end of its own: that is the one of the attempt.
    this.#calls.limit(clock, Number.POSITIVE_INFINITY);
    this.#reportIn(slowMs, clock.now());
  }

  /** It has succeeded or failed. Idempotent. */
  settle(): void {
    this.#report?.cancel();
    this.#lookups.settle();
    this.#calls.settle();
  }

  /** Undefined once it has ended, or has lasted as long as lookups wait; else a promise that resolves then. */
  get pendingForLookups(): Promise<void> | undefined {
    return this.#lookups.pending;
  }

  /** Undefined once it has ended; else a promise that resolves then. */
  get pendingForCalls(): Promise<void> | undefined {
    return this.#calls.pending;
  }

  #reportIn(delayMs: number, startedAt: number): void {
    const { clock } = this.#host;
    this.#report = clock.setTimer(() => {
      const elapsedMs = Math.round(clock.now() - startedAt);
      this.#host.report(elapsedMs);
      this.#reportIn(elapsedMs, startedAt);
    }, delayMs);
  }
}
