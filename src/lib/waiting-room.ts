import type { Clock, Timer } from "./clock.ts";

/** What may end a wait before what is waited for. */
export interface WaitOptions {
  readonly signals?: readonly AbortSignal[] | undefined;
  /** The longest time without a sign of life, in milliseconds. */
  readonly inactivityMs?: number | undefined;
  /** The longest time in all, in milliseconds. */
  readonly totalMs?: number | undefined;
  /** Makes the error for a limit that was reached. */
  onLimit(limit: "inactivity" | "total", elapsedMs: number): unknown;
  /** Hears why a wait was cut, before its promise rejects. */
  onCut?(reason: unknown): void;
}

/** One wait, while it lasts. */
export interface Wait {
  /** A sign of life: the inactivity limit starts again. */
  touch(): void;
}

class Waiting implements Wait {
  readonly options: WaitOptions;
  readonly reject: (reason: unknown) => void;
  readonly startedAt: number;
  readonly #clock: Clock;
  #activeAt: number;

  constructor(options: WaitOptions, reject: (reason: unknown) => void, clock: Clock) {
    this.options = options;
    this.reject = reject;
    this.#clock = clock;
    this.startedAt = clock.now();
    this.#activeAt = this.startedAt;
  }

  touch(): void {
    this.#activeAt = this.#clock.now();
  }

  get dueAt(): number {
    const { inactivityMs = Number.POSITIVE_INFINITY, totalMs = Number.POSITIVE_INFINITY } = this.options;
    return Math.min(this.#activeAt + inactivityMs, this.startedAt + totalMs);
  }
}

/**
 * Where calls wait for promises that may never settle. All share one timer, and one listener for each distinct signal, so that a
 * wait costs neither.
 */
export class WaitingRoom {
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiting>();
  readonly #bySignal = new WeakMap<AbortSignal, { readonly waiting: Set<Waiting>; readonly listener: () => void }>();
  #timer: Timer | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many wait now. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Settles as the promise does, or rejects when a signal aborts (with its reason) or a limit is reached. What the promise does
   * afterwards is ignored.
   */
  wait<T>(promise: PromiseLike<T>, options: WaitOptions, onWait?: (wait: Wait) => void): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiting = this.#enter(options, reject);
      onWait?.(waiting);
      promise.then(
        (value) => {
          this.#leave(waiting);
          resolve(value);
        },
        (error) => {
          this.#leave(waiting);
          reject(error);
        },
      );
    });
  }

  /** Cuts every wait with the reason. */
  cutAll(reason: unknown): void {
    for (const waiting of [...this.#waiting]) this.#cut(waiting, reason);
  }

  #enter(options: WaitOptions, reject: (reason: unknown) => void): Waiting {
    const waiting = new Waiting(options, reject, this.#clock);
    this.#waiting.add(waiting);
    this.#wakeUpAt(waiting.dueAt);
    if (this.#waiting.size === 1) this.#timer?.keepAlive(true);
    if (options.signals !== undefined) for (const signal of options.signals) this.#listen(signal, waiting);
    return waiting;
  }

  #leave(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    if (this.#waiting.size === 0) this.#timer?.keepAlive(false);
    if (waiting.options.signals === undefined) return;
    for (const signal of waiting.options.signals) {
      const listening = this.#bySignal.get(signal);
      if (listening === undefined) continue;
      listening.waiting.delete(waiting);
      if (listening.waiting.size === 0) {
        signal.removeEventListener("abort", listening.listener);
        this.#bySignal.delete(signal);
      }
    }
  }

  #cut(waiting: Waiting, reason: unknown): void {
    if (!this.#waiting.has(waiting)) return;
    this.#leave(waiting);
    // Reject first: whoever hears the abort below and fails because of it is too late to be the answer.
    waiting.reject(reason);
    waiting.options.onCut?.(reason);
  }

  #listen(signal: AbortSignal, waiting: Waiting): void {
    if (signal.aborted) {
      this.#cut(waiting, signal.reason);
      return;
    }
    const listening = this.#bySignal.get(signal);
    if (listening !== undefined) {
      listening.waiting.add(waiting);
      return;
    }
    const all = new Set([waiting]);
    const listener = () => {
      this.#bySignal.delete(signal);
      for (const each of [...all]) this.#cut(each, signal.reason);
    };
    this.#bySignal.set(signal, { waiting: all, listener });
    signal.addEventListener("abort", listener, { once: true });
  }

  /** Sets the one timer for the time, unless it is set for an earlier one. */
  #wakeUpAt(time: number): void {
    if (time >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = time;
    this.#timer = this.#clock.setTimer(() => this.#sweep(), Math.max(0, Math.ceil(time - this.#clock.now())));
    this.#timer.keepAlive(this.#waiting.size > 0);
  }

  #sweep(): void {
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const now = this.#clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const waiting of [...this.#waiting]) {
      const due = waiting.dueAt;
      if (due > now) next = Math.min(next, due);
      else this.#cut(waiting, this.#limitError(waiting, now));
    }
    this.#wakeUpAt(next);
  }

  #limitError(waiting: Waiting, now: number): unknown {
    const { totalMs = Number.POSITIVE_INFINITY } = waiting.options;
    const elapsedMs = now - waiting.startedAt;
    return waiting.options.onLimit(elapsedMs >= totalMs ? "total" : "inactivity", elapsedMs);
  }
}
