import { ToolkitError } from "../core/error.ts";
import { type Deadline, type DeadlineOwner, type TimeLimits, unlimited } from "../lib/deadline.ts";

/** Limits of an attempt, or of a call. */
export interface CallLimits extends TimeLimits {
  /** Those of one attempt, or of the call as its caller gave it. */
  readonly of: "attempt" | "call";
  /** The part of the limit that had passed before this wait began, in milliseconds. */
  readonly spentMs?: number | undefined;
}

/** A call without limits. */
export const callUnlimited: CallLimits = { of: "call", ...unlimited };

/** The time a call has: what ends it early, and what restarts or suspends its limits. */
export abstract class CallLifetime implements DeadlineOwner {
  abstract readonly ref: string;
  abstract readonly parent: CallLifetime | undefined;
  abstract readonly callerSignal: AbortSignal | undefined;
  abstract readonly outerSignals: readonly AbortSignal[] | undefined;
  /** The state that goes on in its place, such as that of its attempt. */
  inner: CallLifetime | undefined = undefined;
  #waitingFor: (() => Error | undefined) | undefined;
  #controller: AbortController | undefined;
  #deadline: Deadline | undefined;
  #outerDeadline: Deadline | undefined;
  #pauses = 0;
  #aborted: { readonly reason: unknown } | undefined;
  #abortListeners: ((reason: unknown) => void)[] | undefined;
  #isFollowedAtOnce = false;

  /** The call itself, where this is the state of one of its attempts, or of a part of it. */
  get call(): object {
    return this;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.#follow();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  get waitingFor(): (() => Error | undefined) | undefined {
    return this.#waitingFor;
  }

  set waitingFor(error: (() => Error | undefined) | undefined) {
    this.#waitingFor = error;
  }

  /** Code listens to its signal, or to its abort without one. */
  get isFollowed(): boolean {
    return this.#controller !== undefined || this.#isFollowedAtOnce || this.inner?.isFollowed === true;
  }

  /** It was ended early. */
  get isAborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** It is waited for, and that wait ends with its signals. */
  get isAwaited(): boolean {
    return this.#deadline !== undefined;
  }

  /** Throws the reason for which it was ended, if it was. */
  throwIfAborted(): void {
    if (this.#aborted !== undefined) throw this.#aborted.reason;
  }

  /**
   * Calls back with the reason should it be ended early: what its signal does, without the cost of one.
   *
   * @param isPatient - an abort in the turn of the event loop in which the call began is reported at the end of that: to listen to a signal
   *   costs more than what is over by then
   */
  onAbort(listener: (reason: unknown) => void, isPatient = false): void {
    if (isPatient) {
      this.#deadline?.notice();
      this.#outerDeadline?.notice();
    } else {
      this.#isFollowedAtOnce = true;
      this.#follow();
    }
    if (this.#aborted !== undefined) {
      listener(this.#aborted.reason);
      return;
    }
    // Most often it is the only one: a list of one is made for it, and let go whole.
    if (this.#abortListeners === undefined) this.#abortListeners = [listener];
    else this.#abortListeners.push(listener);
  }

  offAbort(listener: (reason: unknown) => void): void {
    const others = this.#abortListeners;
    if (others?.length === 1 && others[0] === listener) this.#abortListeners = undefined;
    else this.#abortListeners = others?.filter((each) => each !== listener);
  }

  /** Ends it: its signal aborts with the reason. */
  abort(reason: unknown, limits?: TimeLimits): void {
    // A wait inside a call that is over would be in vain, and keep the process alive.
    if ((limits as CallLimits | undefined)?.of === "call") {
      this.#deadline?.end(reason);
      this.#outerDeadline?.end(reason);
    }
    if (this.#aborted !== undefined) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
    const listeners = this.#abortListeners;
    this.#abortListeners = undefined;
    for (const listener of listeners ?? []) listener(reason);
  }

  onDeadline(deadline: Deadline): void {
    if (this.#deadline !== undefined) this.#outerDeadline = this.#deadline;
    this.#deadline = deadline;
    if (this.#pauses > 0) deadline.pause(true);
  }

  /** A sign of life, of the calls around it too. */
  keepAlive(): void {
    this.#deadline?.keepAlive();
    this.#outerDeadline?.keepAlive();
    this.parent?.keepAlive();
  }

  /** Suspends the inactivity limit, of the calls around it too, until the returned function is called. */
  pauseTimeout(): () => void {
    const release = this.parent?.pauseTimeout();
    this.#pauses += 1;
    if (this.#pauses === 1) this.#setPaused(true);
    return () => {
      this.#pauses -= 1;
      if (this.#pauses === 0) this.#setPaused(false);
      release?.();
    };
  }

  #follow(): void {
    this.#deadline?.follow();
    this.#outerDeadline?.follow();
  }

  #setPaused(isPaused: boolean): void {
    this.#deadline?.pause(isPaused);
    this.#outerDeadline?.pause(isPaused);
  }

  /** The error for a limit of time: that of the connection or the like it was waiting for, else `TIMEOUT`. */
  limitError(limits: TimeLimits, limit: "inactivity" | "total", elapsedMs: number): unknown {
    const waitingFor = this.waitingFor ?? this.inner?.waitingFor;
    return waitingFor?.() ?? timeoutError(this.ref, limits, limit, elapsedMs);
  }
}

function timeoutError(
  ref: string,
  limits: TimeLimits,
  reached: "inactivity" | "total",
  elapsedMs: number,
): ToolkitError<"TIMEOUT"> {
  const { of, spentMs = 0 } = limits as CallLimits;
  const limit = of === "call" ? "call" : reached;
  const limitMs = reached === "total" ? limits.totalMs + spentMs : limits.inactivityMs;
  const what = {
    inactivity: `showed no sign of life for ${limitMs} ms`,
    total: `took longer than ${limitMs} ms, the most an attempt may take`,
    call: `took longer than the ${limitMs} ms that its caller allowed`,
  }[limit];
  const details = { limit, limitMs, elapsedMs: Math.round(elapsedMs + spentMs) } as const;
  return new ToolkitError("TIMEOUT", `${ref} ${what}.`, details, { ref, phase: "execute" });
}
