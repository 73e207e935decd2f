import type { Clock } from "./clock.ts";
import type { Link } from "./linked-list.ts";

/** The limits of one wait. */
export interface TimeLimits {
  /** The longest time without a sign of life, in milliseconds. */
  readonly inactivityMs: number;
  /** The longest time in all, in milliseconds. */
  readonly totalMs: number;
}

/** The subject of a wait, such as a call. */
export interface DeadlineOwner {
  /** Ends the wait when it aborts. */
  readonly callerSignal: AbortSignal | undefined;
  /** Further signals that do. */
  readonly outerSignals?: readonly AbortSignal[] | undefined;
  /** Code listens to it for an abort: it is to have one at once, also in the turn of the event loop in which the wait began. */
  readonly isFollowed?: boolean | undefined;
  /** Called when a wait begins: it can be given signs of life from then on. */
  onDeadline(deadline: Deadline): void;
  /** Makes the error for a limit that was reached. */
  limitError(limits: TimeLimits, limit: "inactivity" | "total", elapsedMs: number): unknown;
  /** Called when a wait was ended early, after its promise rejected. */
  abort(reason: unknown, limits: TimeLimits): void;
}

/** No limits: the wait ends with its promise, or by a signal. */
export const unlimited: TimeLimits = { inactivityMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY };

/** One wait, while it lasts. */
export interface Deadline {
  /** A sign of life: the inactivity limit starts again. */
  keepAlive(): void;
  /** The inactivity limit is suspended from now on, or starts again. */
  pause(isPaused: boolean): void;
  /** Ends it with the reason, unless it has ended. */
  end(reason: unknown): void;
  /** Its owner is followed from now on. */
  follow(): void;
  /** Ends it where one of its signals has aborted, without listening to them. */
  notice(): void;
}

/** The scheduler of a deadline. */
export interface DeadlineHost {
  readonly clock: Clock;
  /** The deadline may be due sooner than was known. */
  watch(deadline: ScheduledDeadline): void;
  /** Ends the wait with the reason, unless it has ended. */
  abort(deadline: ScheduledDeadline, reason: unknown): void;
  /** Listens to the signals of the wait. */
  listenTo(deadline: ScheduledDeadline): void;
}

/** A link in the list of all waits. */
export class ScheduledDeadline implements Deadline, Link<ScheduledDeadline> {
  readonly owner: DeadlineOwner;
  readonly limits: TimeLimits;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
  isActive = false;
  previous: ScheduledDeadline | undefined;
  next: ScheduledDeadline | undefined;
  /** Beside that of the caller. */
  outerSignals: readonly AbortSignal[] | undefined;
  /** Its signals are not listened to yet. */
  isToListen = false;
  /** The turn of the event loop in which it began, as the scheduler counts them. */
  turn = 0;
  /** Undefined in the turn of the event loop in which it began: a wait that is over by the end of that needs no clock. */
  startedAt: number | undefined;
  readonly #host: DeadlineHost;
  #activeAt = 0;
  #isPaused = false;

  constructor(
    owner: DeadlineOwner,
    limits: TimeLimits,
    resolve: (value: unknown) => void,
    reject: (reason: unknown) => void,
    host: DeadlineHost,
  ) {
    this.owner = owner;
    this.limits = limits;
    this.resolve = resolve;
    this.reject = reject;
    this.#host = host;
  }

  /** The limits begin. */
  start(now: number): void {
    this.startedAt = now;
    this.#activeAt = now;
  }

  keepAlive(): void {
    this.#activeAt = this.#host.clock.now();
  }

  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (isPaused) return;
    this.keepAlive();
    this.#host.watch(this);
  }

  end(reason: unknown): void {
    this.#host.abort(this, reason);
  }

  follow(): void {
    if (this.isToListen && this.isActive) this.#host.listenTo(this);
  }

  notice(): void {
    if (!this.isToListen) return;
    const { callerSignal } = this.owner;
    const signal = callerSignal?.aborted === true ? callerSignal : this.outerSignals?.find(({ aborted }) => aborted);
    if (signal !== undefined) this.end(signal.reason);
  }

  get dueAt(): number {
    const totalAt = (this.startedAt ?? 0) + this.limits.totalMs;
    return this.#isPaused ? totalAt : Math.min(this.#activeAt + this.limits.inactivityMs, totalAt);
  }
}
