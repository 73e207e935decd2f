import { callStateOf } from "../call/call-port.ts";
import type { ReadOptions } from "../core/resource.ts";
import { type Clock, keepProcessAlive } from "../lib/clock.ts";
import { FirstAttempt } from "../lib/first-attempt.ts";
import { Latch } from "../lib/latch.ts";

/** Whose presence it is. */
export interface AvailabilityHost<G> {
  readonly clock: Clock;
  /** How long the first attempt is waited for, in milliseconds. */
  readonly startTimeoutMs: number;
  /** How long a call waits that has no limit of its own, in milliseconds. */
  readonly waitMs: number;
  /** Begins, if it has not. */
  start(): void;
  /** What is there now. */
  current(): G | undefined;
  /** Why it is not there. */
  unavailable(): Error;
}

/** Whether a connection is there, and those who wait for it. */
export class Availability<G> {
  readonly #host: AvailabilityHost<G>;
  /** Open while it is there. */
  readonly #gate = new Latch();
  /** Of the first attempt. */
  readonly #settling = new FirstAttempt();

  constructor(host: AvailabilityHost<G>) {
    this.#host = host;
  }

  /** The first attempt begins. */
  begin(): void {
    this.#settling.limit(this.#host.clock, this.#host.startTimeoutMs);
  }

  /** The first attempt has come to something. */
  settle(): void {
    this.#settling.settle();
  }

  /** It is there: whoever waits goes on. */
  come(): void {
    this.settle();
    this.#gate.open();
  }

  /** It is gone, and may come again: from now on it is waited for. */
  go(): void {
    this.#gate.shut();
  }

  /** It will not come any more. */
  end(error: Error): void {
    this.settle();
    this.#gate.break(error);
  }

  /** Undefined once the first attempt has come to something or took too long; else resolves when that is so. */
  get settling(): Promise<void> | undefined {
    return this.#settling.pending;
  }

  /** Resolves when it is there. Rejects with the reason of the signal, or with why it will not come any more. */
  async ready(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    this.#host.start();
    if (this.#host.current() !== undefined) return;
    // The timers of the supervisor keep no process alive, and whoever waits must not see it end.
    const release = keepProcessAlive(this.#host.clock);
    try {
      await this.#gate.wait(signal);
    } finally {
      release();
    }
  }

  /** Waits for it as long as the caller does; one without a limit of its own as long as `waitMs`. */
  async wait(options: ReadOptions): Promise<G> {
    const { clock, waitMs, start, current, unavailable } = this.#host;
    const patience = new AbortController();
    const timer = clock.setTimer(() => patience.abort(unavailable()), waitMs);
    timer.keepAlive(true);
    const call = callStateOf(options);
    if (call !== undefined) call.waitingFor = unavailable;
    try {
      start();
      for (;;) {
        await this.#gate.wait(options.signal, patience.signal);
        // It may be gone again already.
        const there = current();
        if (there !== undefined) return there;
      }
    } finally {
      timer.cancel();
      if (call !== undefined) call.waitingFor = undefined;
    }
  }
}
