// Not the global one, which a test may replace together with its clock.
import { setImmediate } from "node:timers";
import type { Clock, Timer } from "./clock.ts";
import { type DeadlineHost, type DeadlineOwner, ScheduledDeadline, type TimeLimits } from "./deadline.ts";
import { LinkedList } from "./linked-list.ts";

/** Makes the result of a wait from that of its promise. The wait lasts until that is settled too. */
export interface Settlement<T, W, R> {
  readonly receive: (value: T, owner: W) => R | Promise<R>;
  /** Gives another result in place of an error, or throws. */
  readonly fail: (thrown: unknown, owner: W) => R | Promise<R>;
}

const once = { once: true } as const;
/** Signals without a wait are listened to until there are so many, or twice as many as those with one. */
const minListenedTo = 64;

/**
 * Waits for promises that may never settle. All waits share one timer, and one listener for each distinct signal, and the clock is read
 * once for all that began in one turn of the event loop, so that a wait costs none of these. Limits count from the end of that turn, and
 * from then on signals are listened to: most waits are over by then. Until then an abort is noticed where a wait settles. Both begin at once
 * where the owner is followed.
 */
export class DeadlineScheduler implements DeadlineHost {
  readonly clock: Clock;
  readonly #waits = new LinkedList<ScheduledDeadline>();
  // The one listener of a signal outlives its waits, for to add and remove it with each would cost more than the wait. It does not stay for
  // ever: Node keeps a signal of AbortSignal.any in memory for as long as that has a listener and one of its sources lives.
  readonly #listenedTo = new Set<AbortSignal>();
  #maxListenedTo = minListenedTo;
  // Weakly: a signal that lives as long as the process must not keep every scheduler alive that ever listened to it.
  readonly #onAbort = DeadlineScheduler.#listenerOf(new WeakRef(this));
  /** Set while there are waits whose limits have not begun. */
  #starter: Timer | undefined;
  /** Signals of waits that began in this turn are to be listened to at its end. */
  #listensLater = false;
  /** Counts the turns of the event loop in which such waits began. */
  #turn = 0;
  #timer: Timer | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;

  constructor(clock: Clock) {
    this.clock = clock;
  }

  /** The number of waits now. */
  get size(): number {
    return this.#waits.size;
  }

  /**
   * Settles as the promise does and as `settle` makes of it, or rejects when a signal aborts (with its reason) or a limit is reached.
   * A promise that settles afterwards is ignored.
   */
  wait<T, W extends DeadlineOwner, R = T>(
    promise: Promise<T>,
    owner: W,
    limits: TimeLimits,
    settle?: Settlement<T, W, R>,
  ): Promise<R> {
    return new Promise<R>((resolve, reject) => {
      const deadline = this.#enter(owner, limits, resolve as (value: unknown) => void, reject);
      if (settle === undefined) {
        promise.then(
          (value) => this.#succeed(deadline, value),
          (error) => this.#fail(deadline, error),
        );
        return;
      }
      // One promise for both: every call takes this way that is not answered at once.
      promise.then(
        (value) => this.#settle(deadline, settle.receive, value),
        (thrown) => this.#settle(deadline, settle.fail, thrown),
      );
    });
  }

  #settle(deadline: ScheduledDeadline, settle: (value: never, owner: never) => unknown, value: unknown): void {
    try {
      const settled = settle(value as never, deadline.owner as never);
      if (settled instanceof Promise) {
        settled.then(
          (result) => this.#succeed(deadline, result),
          (error) => this.#fail(deadline, error),
        );
      } else this.#succeed(deadline, settled);
    } catch (error) {
      this.#fail(deadline, error);
    }
  }

  #succeed(deadline: ScheduledDeadline, value: unknown): void {
    deadline.notice();
    this.#leave(deadline);
    deadline.resolve(value);
  }

  #fail(deadline: ScheduledDeadline, error: unknown): void {
    deadline.notice();
    this.#leave(deadline);
    deadline.reject(error);
  }

  /** Ends every wait, each with its reason. */
  abortAll(reasonFor: (owner: DeadlineOwner) => unknown): void {
    this.#abortWhere(
      ({ owner }) => reasonFor(owner),
      () => true,
    );
    if (this.#waits.size > 0) return;
    this.#starter?.cancel();
    this.#starter = undefined;
  }

  #enter(
    owner: DeadlineOwner,
    limits: TimeLimits,
    resolve: (value: unknown) => void,
    reject: (reason: unknown) => void,
  ): ScheduledDeadline {
    const deadline = new ScheduledDeadline(owner, limits, resolve, reject, this);
    this.#waits.add(deadline);
    owner.onDeadline(deadline);
    const isFollowed = owner.isFollowed === true;
    if (limits.totalMs < Number.POSITIVE_INFINITY || limits.inactivityMs < Number.POSITIVE_INFINITY) {
      // A wait that is followed is for something outside: with a timer at hand the event loop sleeps and wakes up dearer than the clock is read.
      if (isFollowed) this.#begin();
      else if (this.#starter === undefined) {
        this.#starter = this.clock.setTimer(this.#beginLater, 0);
        this.#starter.keepAlive(true);
      }
    }
    const { callerSignal, outerSignals } = owner;
    deadline.turn = this.#turn;
    if (callerSignal === undefined && outerSignals === undefined) return deadline;
    deadline.outerSignals = outerSignals;
    deadline.isToListen = true;
    if (isFollowed) this.listenTo(deadline);
    else if (!this.#listensLater) {
      this.#listensLater = true;
      setImmediate(this.#listenToAll);
    }
    return deadline;
  }

  /** Listens to the signals of the waits that began in this turn, as far as they still last. */
  readonly #listenToAll = (): void => {
    this.#listensLater = false;
    const turn = this.#turn;
    this.#turn += 1;
    // Chosen first: a signal that has aborted ends waits.
    const chosen: ScheduledDeadline[] = [];
    for (let deadline = this.#waits.first; deadline?.turn === turn; deadline = deadline.next)
      if (deadline.isToListen) chosen.push(deadline);
    for (const deadline of chosen.reverse()) this.listenTo(deadline);
  };

  listenTo(deadline: ScheduledDeadline): void {
    deadline.isToListen = false;
    const { callerSignal } = deadline.owner;
    if (callerSignal !== undefined) this.#listen(callerSignal, deadline);
    for (const signal of deadline.outerSignals ?? []) this.#listen(signal, deadline);
  }

  #leave(deadline: ScheduledDeadline): void {
    if (this.#waits.remove(deadline) && this.#waits.size === 0) this.#timer?.keepAlive(false);
  }

  readonly #beginLater = (): void => {
    this.#starter = undefined;
    this.#begin();
  };

  /** Begins the limits of the waits that have none yet, as far as they still last: the latest ones. */
  #begin(): void {
    const now = this.clock.now();
    let next = Number.POSITIVE_INFINITY;
    let deadline = this.#waits.first;
    while (deadline !== undefined && deadline.startedAt === undefined) {
      deadline.start(now);
      next = Math.min(next, deadline.dueAt);
      deadline = deadline.next;
    }
    this.#wakeUpAt(next);
    if (this.#waits.size > 0) this.#timer?.keepAlive(true);
  }

  /** A wait may be due sooner than was known. */
  watch(deadline: ScheduledDeadline): void {
    if (deadline.isActive && deadline.startedAt !== undefined) this.#wakeUpAt(deadline.dueAt);
  }

  /** Ends one wait with the reason. */
  abort(deadline: ScheduledDeadline, reason: unknown): void {
    if (!deadline.isActive) return;
    this.#leave(deadline);
    // Reject first: code that fails because of the abort below is too late to give the answer.
    deadline.reject(reason);
    deadline.owner.abort(reason, deadline.limits);
  }

  #abortWhere(
    reasonFor: (deadline: ScheduledDeadline) => unknown,
    applies: (deadline: ScheduledDeadline) => boolean,
  ): void {
    // Chosen first: waits may begin and end while owners are called back.
    const chosen: ScheduledDeadline[] = [];
    for (let deadline = this.#waits.first; deadline !== undefined; deadline = deadline.next)
      if (applies(deadline)) chosen.push(deadline);
    for (const deadline of chosen.reverse()) this.abort(deadline, reasonFor(deadline));
  }

  #listen(signal: AbortSignal, deadline: ScheduledDeadline): void {
    if (signal.aborted) {
      this.abort(deadline, signal.reason);
      return;
    }
    if (this.#listenedTo.has(signal)) return;
    this.#listenedTo.add(signal);
    signal.addEventListener("abort", this.#onAbort, once);
    if (this.#listenedTo.size > this.#maxListenedTo) this.#unlisten();
  }

  /** Removes the listener of each signal without a wait. */
  #unlisten(): void {
    const used = new Set<AbortSignal>();
    for (let deadline = this.#waits.first; deadline !== undefined; deadline = deadline.next) {
      const { owner, outerSignals } = deadline;
      if (owner.callerSignal !== undefined) used.add(owner.callerSignal);
      for (const signal of outerSignals ?? []) used.add(signal);
    }
    for (const signal of this.#listenedTo) {
      if (used.has(signal)) continue;
      this.#listenedTo.delete(signal);
      signal.removeEventListener("abort", this.#onAbort);
    }
    this.#maxListenedTo = Math.max(minListenedTo, 2 * used.size);
  }

  /** The listener of every signal: to make one for each would cost as much as to add it. */
  static #listenerOf(scheduler: WeakRef<DeadlineScheduler>): (event: Event) => void {
    // Not currentTarget, which Node resets after the first listener of an event.
    return ({ target }) => {
      const there = scheduler.deref();
      if (there !== undefined) there.#aborted(target as AbortSignal);
    };
  }

  #aborted(signal: AbortSignal): void {
    this.#listenedTo.delete(signal);
    this.#abortWhere(
      () => signal.reason,
      ({ owner, outerSignals }) => owner.callerSignal === signal || outerSignals?.includes(signal) === true,
    );
  }

  /** Sets the one timer for the time, unless it is set for an earlier one. */
  #wakeUpAt(time: number): void {
    if (time >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = time;
    this.#timer = this.clock.setTimer(() => this.#sweep(), Math.max(0, Math.ceil(time - this.clock.now())));
    this.#timer.keepAlive(this.#waits.size > 0);
  }

  #sweep(): void {
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const now = this.clock.now();
    let next = Number.POSITIVE_INFINITY;
    this.#abortWhere(
      (deadline) => limitError(deadline, now),
      (deadline) => {
        if (deadline.startedAt === undefined) return false;
        const due = deadline.dueAt;
        if (due <= now) return true;
        next = Math.min(next, due);
        return false;
      },
    );
    this.#wakeUpAt(next);
  }
}

function limitError({ owner, limits, startedAt }: ScheduledDeadline, now: number): unknown {
  const elapsedMs = now - (startedAt ?? now);
  return owner.limitError(limits, elapsedMs >= limits.totalMs ? "total" : "inactivity", elapsedMs);
}
