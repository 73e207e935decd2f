import type { Clock, Timer } from "./clock.ts";

/** The limits of one wait. */
export interface TimeLimits {
  /** The longest time without a sign of life, in milliseconds. */
  readonly inactivityMs: number;
  /** The longest time in all, in milliseconds. */
  readonly totalMs: number;
}

/** Whoever waits. */
export interface DeadlineOwner {
  /** What ends the wait when it aborts. */
  readonly callerSignal: AbortSignal | undefined;
  /** Another that does. */
  readonly outerSignal: AbortSignal | undefined;
  /** Told when a wait begins: it can be given signs of life from then on. */
  onDeadline(wait: Deadline): void;
  /** Makes the error for a limit that was reached. */
  limitError(limits: TimeLimits, limit: "inactivity" | "total", elapsedMs: number): unknown;
  /** Hears why a wait was cut, after its promise rejected. */
  abort(reason: unknown, limits: TimeLimits): void;
}

/** What becomes of what was waited for. The wait lasts until that is settled too. */
export interface Settlement<T, W, R> {
  receive(value: T, waiter: W): R | Promise<R>;
  /** Gives what is to be in its place, or throws. */
  fail(thrown: unknown, waiter: W): R | Promise<R>;
}

/** No limits: the wait ends with what is waited for, or by a signal. */
export const unlimited: TimeLimits = { inactivityMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY };

/** One wait, while it lasts. */
export interface Deadline {
  /** A sign of life: the inactivity limit starts again. */
  keepAlive(): void;
  /** The inactivity limit rests from now on, or starts again. */
  pause(resting: boolean): void;
  /** Ends it with the reason, unless it has ended. */
  end(reason: unknown): void;
}

/** A link of the list of those who wait: to come and go costs two pointers. */
class ScheduledDeadline implements Deadline {
  readonly waiter: DeadlineOwner;
  readonly limits: TimeLimits;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  isActive = true;
  previous: ScheduledDeadline | undefined;
  next: ScheduledDeadline | undefined;
  /** Undefined in the turn of the event loop in which it came: what is over by its end needs no clock. */
  startedAt: number | undefined;
  readonly #room: DeadlineScheduler;
  #activeAt = 0;
  #rests = false;

  constructor(
    waiter: DeadlineOwner,
    limits: TimeLimits,
    resolve: (value: unknown) => void,
    reject: (reason: unknown) => void,
    room: DeadlineScheduler,
  ) {
    this.waiter = waiter;
    this.limits = limits;
    this.resolve = resolve;
    this.reject = reject;
    this.#room = room;
  }

  /** The limits begin. */
  start(now: number): void {
    this.startedAt = now;
    this.#activeAt = now;
  }

  keepAlive(): void {
    this.#activeAt = this.#room.clock.now();
  }

  pause(resting: boolean): void {
    this.#rests = resting;
    if (resting) return;
    this.keepAlive();
    this.#room.watch(this);
  }

  end(reason: unknown): void {
    this.#room.abort(this, reason);
  }

  get dueAt(): number {
    const totalAt = (this.startedAt ?? 0) + this.limits.totalMs;
    return this.#rests ? totalAt : Math.min(this.#activeAt + this.limits.inactivityMs, totalAt);
  }
}

/**
 * Where calls wait for promises that may never settle. All share one timer, and one listener for each distinct signal, and the clock
 * is read once for all that came in one turn of the event loop, so that a wait costs none of these. Limits count from the end of
 * that turn.
 */
export class DeadlineScheduler {
  /** @internal */
  readonly clock: Clock;
  // The latest is the first.
  #first: ScheduledDeadline | undefined;
  #size = 0;
  // The one listener of a signal stays for as long as the signal does: to come and go with each wait would cost more than the wait.
  readonly #heard = new WeakSet<AbortSignal>();
  /** Set while some have come whose limits have not begun. */
  #newcomers: Timer | undefined;
  #timer: Timer | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** How many wait now. */
  get size(): number {
    return this.#size;
  }

  /**
   * Settles as the promise does and as `settle` makes of it, or rejects when a signal aborts (with its reason) or a limit is reached.
   * What the promise does afterwards is ignored.
   */
  wait<T, W extends DeadlineOwner, R = T>(
    promise: Promise<T>,
    waiter: W,
    limits: TimeLimits,
    settle?: Settlement<T, W, R>,
  ): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const waiting = this.#enter(waiter, limits, resolve as (value: unknown) => void, reject);
      if (settle === undefined) {
        promise.then(
          (value) => this.#succeed(waiting, value),
          (error) => this.#fail(waiting, error),
        );
        return;
      }
      // One promise for both: this is the way of every call that is not answered at once.
      promise.then(
        (value) => this.#receive(waiting, () => settle.receive(value, waiter)),
        (thrown) => this.#receive(waiting, () => settle.fail(thrown, waiter)),
      );
    });
  }

  #receive(waiting: ScheduledDeadline, receive: () => unknown): void {
    try {
      const received = receive();
      if (received instanceof Promise) {
        received.then(
          (value) => this.#succeed(waiting, value),
          (error) => this.#fail(waiting, error),
        );
      } else this.#succeed(waiting, received);
    } catch (error) {
      this.#fail(waiting, error);
    }
  }

  #succeed(waiting: ScheduledDeadline, value: unknown): void {
    this.#leave(waiting);
    waiting.resolve(value);
  }

  #fail(waiting: ScheduledDeadline, error: unknown): void {
    this.#leave(waiting);
    waiting.reject(error);
  }

  /** Cuts every wait, each with its reason. */
  abortAll(reasonFor: (waiter: DeadlineOwner) => unknown): void {
    this.#abortWhere(
      ({ waiter }) => reasonFor(waiter),
      () => true,
    );
    if (this.#size > 0) return;
    this.#newcomers?.cancel();
    this.#newcomers = undefined;
  }

  #enter(
    waiter: DeadlineOwner,
    limits: TimeLimits,
    resolve: (value: unknown) => void,
    reject: (reason: unknown) => void,
  ): ScheduledDeadline {
    const waiting = new ScheduledDeadline(waiter, limits, resolve, reject, this);
    const first = this.#first;
    waiting.next = first;
    if (first !== undefined) first.previous = waiting;
    this.#first = waiting;
    this.#size += 1;
    if (this.#newcomers === undefined && isLimited(limits)) {
      this.#newcomers = this.clock.setTimer(this.#begin, 0);
      this.#newcomers.keepAlive(true);
    }
    waiter.onDeadline(waiting);
    const { callerSignal, outerSignal } = waiter;
    if (callerSignal !== undefined) this.#listen(callerSignal, waiting);
    if (outerSignal !== undefined) this.#listen(outerSignal, waiting);
    return waiting;
  }

  #leave(waiting: ScheduledDeadline): void {
    if (!waiting.isActive) return;
    waiting.isActive = false;
    const { previous, next } = waiting;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
    this.#size -= 1;
    if (this.#size === 0) this.#timer?.keepAlive(false);
  }

  /** Begins the limits of those who came in the turn that has ended, and still wait. */
  readonly #begin = (): void => {
    this.#newcomers = undefined;
    const now = this.clock.now();
    let next = Number.POSITIVE_INFINITY;
    let waiting = this.#first;
    while (waiting !== undefined && waiting.startedAt === undefined) {
      waiting.start(now);
      next = Math.min(next, waiting.dueAt);
      waiting = waiting.next;
    }
    this.#wakeUpAt(next);
    if (this.#size > 0) this.#timer?.keepAlive(true);
  };

  /** A wait may be due sooner than was known. @internal */
  watch(waiting: ScheduledDeadline): void {
    if (waiting.isActive && waiting.startedAt !== undefined) this.#wakeUpAt(waiting.dueAt);
  }

  /** Ends one wait with the reason. @internal */
  abort(waiting: ScheduledDeadline, reason: unknown): void {
    if (!waiting.isActive) return;
    this.#leave(waiting);
    // Reject first: whoever hears the abort below and fails because of it is too late to be the answer.
    waiting.reject(reason);
    waiting.waiter.abort(reason, waiting.limits);
  }

  #abortWhere(
    reasonFor: (waiting: ScheduledDeadline) => unknown,
    applies: (waiting: ScheduledDeadline) => boolean,
  ): void {
    // Chosen first: who is told may come and go here itself.
    const chosen: ScheduledDeadline[] = [];
    for (let waiting = this.#first; waiting !== undefined; waiting = waiting.next)
      if (applies(waiting)) chosen.push(waiting);
    for (const waiting of chosen.reverse()) this.abort(waiting, reasonFor(waiting));
  }

  #listen(signal: AbortSignal, waiting: ScheduledDeadline): void {
    if (signal.aborted) {
      this.abort(waiting, signal.reason);
      return;
    }
    if (this.#heard.has(signal)) return;
    this.#heard.add(signal);
    // Weakly: a signal that lives as long as the process must not keep every room alive that ever heard it.
    const room = new WeakRef(this);
    const heard = () => {
      const there = room.deref();
      if (there !== undefined) there.#aborted(signal);
    };
    signal.addEventListener("abort", heard, { once: true });
  }

  #aborted(signal: AbortSignal): void {
    this.#abortWhere(
      () => signal.reason,
      ({ waiter }) => waiter.callerSignal === signal || waiter.outerSignal === signal,
    );
  }

  /** Sets the one timer for the time, unless it is set for an earlier one. */
  #wakeUpAt(time: number): void {
    if (time >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = time;
    this.#timer = this.clock.setTimer(() => this.#sweep(), Math.max(0, Math.ceil(time - this.clock.now())));
    this.#timer.keepAlive(this.#size > 0);
  }

  #sweep(): void {
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const now = this.clock.now();
    let next = Number.POSITIVE_INFINITY;
    this.#abortWhere(
      (waiting) => limitError(waiting, now),
      (waiting) => {
        if (waiting.startedAt === undefined) return false;
        const due = waiting.dueAt;
        if (due <= now) return true;
        next = Math.min(next, due);
        return false;
      },
    );
    this.#wakeUpAt(next);
  }
}

function isLimited({ totalMs, inactivityMs }: TimeLimits): boolean {
  return totalMs < Number.POSITIVE_INFINITY || inactivityMs < Number.POSITIVE_INFINITY;
}

function limitError({ waiter, limits, startedAt }: ScheduledDeadline, now: number): unknown {
  const elapsedMs = now - (startedAt ?? now);
  return waiter.limitError(limits, elapsedMs >= limits.totalMs ? "total" : "inactivity", elapsedMs);
}
