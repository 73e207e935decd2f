import type { Clock, Timer } from "./clock.ts";

/** The limits of one wait. */
export interface WaitLimits {
  /** The longest time without a sign of life, in milliseconds. */
  readonly inactivityMs: number;
  /** The longest time in all, in milliseconds. */
  readonly totalMs: number;
}

/** Whoever waits. */
export interface Waiter {
  /** What ends the wait when it aborts. */
  readonly callerSignal: AbortSignal | undefined;
  /** Another that does. */
  readonly outerSignal: AbortSignal | undefined;
  /** Told when a wait begins: it can be given signs of life from then on. */
  waits(wait: Wait): void;
  /** Makes the error for a limit that was reached. */
  limitError(limits: WaitLimits, limit: "inactivity" | "total", elapsedMs: number): unknown;
  /** Hears why the wait was cut, after its promise rejected. */
  cut(reason: unknown): void;
}

/** One wait, while it lasts. */
export interface Wait {
  /** A sign of life: the inactivity limit starts again. */
  touch(): void;
}

class Waiting implements Wait {
  readonly waiter: Waiter;
  readonly limits: WaitLimits;
  readonly reject: (reason: unknown) => void;
  readonly startedAt: number;
  readonly room: WaitingRoom;
  #activeAt: number;

  constructor(room: WaitingRoom, waiter: Waiter, limits: WaitLimits, reject: (reason: unknown) => void) {
    this.room = room;
    this.waiter = waiter;
    this.limits = limits;
    this.reject = reject;
    this.startedAt = room.clock.now();
    this.#activeAt = this.startedAt;
  }

  touch(): void {
    this.#activeAt = this.room.clock.now();
  }

  get dueAt(): number {
    return Math.min(this.#activeAt + this.limits.inactivityMs, this.startedAt + this.limits.totalMs);
  }
}

/**
 * Where calls wait for promises that may never settle. All share one timer, and one listener for each distinct signal, so that a
 * wait costs neither.
 */
export class WaitingRoom {
  /** @internal */
  readonly clock: Clock;
  readonly #waiting = new Set<Waiting>();
  // The one listener of a signal stays for as long as the signal does: to come and go with each wait would cost more than the wait.
  readonly #bySignal = new WeakMap<AbortSignal, Set<Waiting>>();
  #timer: Timer | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** How many wait now. */
  get size(): number {
    return this.#waiting.size;
  }

  /**
   * Settles as the promise does, or rejects when a signal aborts (with its reason) or a limit is reached. What the promise does
   * afterwards is ignored.
   */
  wait<T>(promise: PromiseLike<T>, waiter: Waiter, limits: WaitLimits): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const waiting = this.#enter(waiter, limits, reject);
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
    for (const waiting of [...this.#waiting]) this.cut(waiting, reason);
  }

  #enter(waiter: Waiter, limits: WaitLimits, reject: (reason: unknown) => void): Waiting {
    const waiting = new Waiting(this, waiter, limits, reject);
    this.#waiting.add(waiting);
    this.#wakeUpAt(waiting.dueAt);
    if (this.#waiting.size === 1) this.#timer?.keepAlive(true);
    waiter.waits(waiting);
    const { callerSignal: signal, outerSignal } = waiter;
    if (signal !== undefined) this.#listen(signal, waiting);
    if (outerSignal !== undefined) this.#listen(outerSignal, waiting);
    return waiting;
  }

  #leave(waiting: Waiting): void {
    this.#waiting.delete(waiting);
    if (this.#waiting.size === 0) this.#timer?.keepAlive(false);
    const { callerSignal: signal, outerSignal } = waiting.waiter;
    if (signal !== undefined) this.#bySignal.get(signal)?.delete(waiting);
    if (outerSignal !== undefined) this.#bySignal.get(outerSignal)?.delete(waiting);
  }

  /** Ends one wait with the reason. @internal */
  cut(waiting: Waiting, reason: unknown): void {
    if (!this.#waiting.has(waiting)) return;
    this.#leave(waiting);
    // Reject first: whoever hears the abort below and fails because of it is too late to be the answer.
    waiting.reject(reason);
    waiting.waiter.cut(reason);
  }

  #listen(signal: AbortSignal, waiting: Waiting): void {
    if (signal.aborted) {
      this.cut(waiting, signal.reason);
      return;
    }
    let all = this.#bySignal.get(signal);
    if (all === undefined) {
      all = new Set();
      this.#bySignal.set(signal, all);
      signal.addEventListener("abort", abortListener(signal, all), { once: true });
    }
    all.add(waiting);
  }

  /** Sets the one timer for the time, unless it is set for an earlier one. */
  #wakeUpAt(time: number): void {
    if (time >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = time;
    this.#timer = this.clock.setTimer(() => this.#sweep(), Math.max(0, Math.ceil(time - this.clock.now())));
    this.#timer.keepAlive(this.#waiting.size > 0);
  }

  #sweep(): void {
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const now = this.clock.now();
    let next = Number.POSITIVE_INFINITY;
    for (const waiting of [...this.#waiting]) {
      const due = waiting.dueAt;
      if (due > now) next = Math.min(next, due);
      else this.cut(waiting, limitError(waiting, now));
    }
    this.#wakeUpAt(next);
  }
}

/** Made out here, so that a signal holds on to nothing but those who wait for it. */
function abortListener(signal: AbortSignal, all: ReadonlySet<Waiting>): () => void {
  return () => {
    for (const waiting of [...all]) waiting.room.cut(waiting, signal.reason);
  };
}

function limitError({ waiter, limits, startedAt }: Waiting, now: number): unknown {
  const elapsedMs = now - startedAt;
  return waiter.limitError(limits, elapsedMs >= limits.totalMs ? "total" : "inactivity", elapsedMs);
}
