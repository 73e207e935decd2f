import { ToolkitError } from "../core/error.ts";
import type { ConcurrencyLimit, ConcurrencyQueue } from "../lib/concurrency-queue.ts";
import { type DeadlineScheduler, unlimited } from "../lib/deadline-scheduler.ts";
import type { MaybePromise } from "../lib/promise.ts";
import type { SlidingWindow } from "../lib/sliding-window.ts";
import type { CallState } from "./call-state.ts";
import type { SharedLimits } from "./shared-limits.ts";
import { described, type Next, type Step, type StepCall, type Target } from "./step.ts";

/** What limits attempts. */
export interface RateLimitOptions {
  readonly limits: SharedLimits;
  readonly room: DeadlineScheduler;
}

/**
 * Refuses an attempt where there were too many of late, and lets it wait where too many are at work. The caller's abort and deadline
 * end the wait.
 */
export function rateLimit({ limits, room }: RateLimitOptions): Step {
  const step: Step = <R>(target: Target, next: Next<R>): Next<R> => {
    const { windows, bounds } = limits.of(target);
    const start = windows.length === 0 ? next : (call: StepCall) => next(spent(call, windows, room));
    const lane = limits.lane(bounds);
    if (lane === undefined) return start;
    const { ref } = target.entry;
    const fromOutside: Admission = { lane, waits: true };
    return (call) => {
      // Refused at once rather than after a wait; what it takes it takes when it begins.
      for (const window of windows) assertFree(window, ref, room.clock.now());
      const admission = call.state.parent === undefined ? fromOutside : inside(call.state.parent, lane, limits);
      return admit(call, admission, start);
    };
  };
  const settingsFor = (target: Target) => {
    const { windows, bounds } = limits.of(target);
    const rateLimits = windows.map(({ max, windowMs }) => ({ calls: max, perMs: windowMs }));
    return { rateLimits, maxConcurrent: bounds.map(({ max }) => max) };
  };
  return described(settingsFor, step);

  async function queued<R>(call: StepCall, lane: ConcurrencyQueue, start: Next<R>): Promise<R> {
    limits.queued += 1;
    try {
      await place(call.state, lane, room);
    } finally {
      limits.queued -= 1;
    }
    return occupied(call, lane, start);
  }

  function admit<R>(call: StepCall, { lane, waits }: Admission, start: Next<R>): MaybePromise<R> {
    if (lane === undefined) return start(call);
    if (lane.take()) return occupied(call, lane, start);
    if (waits) return queued(call, lane, start);
    lane.takeAnyway();
    return occupied(call, lane, start);
  }
}

/** Counts an attempt that begins now. @throws ToolkitError `RATE_LIMITED` */
function spent(call: StepCall, windows: readonly SlidingWindow[], { clock }: DeadlineScheduler): StepCall {
  const now = clock.now();
  for (const window of windows) assertFree(window, call.entry.ref, now);
  for (const window of windows) window.spend(now);
  return call;
}

function assertFree(window: SlidingWindow, ref: string, now: number): void {
  const retryAfterMs = Math.ceil(window.waitMs(now));
  if (retryAfterMs === 0) return;
  const { max, windowMs } = window;
  const message = `${ref} was not called: its limit is ${max} in ${windowMs} ms. Call again in ${retryAfterMs} ms.`;
  throw new ToolkitError("RATE_LIMITED", message, { retryAfterMs }, { ref, phase: "policy" });
}

interface Admission {
  /** Undefined where it needs no place. */
  readonly lane: ConcurrencyQueue | undefined;
  readonly waits: boolean;
}

/**
 * How a call that is inside another gets its places. What that one has it shares. It waits only for bounds that come after all it
 * is inside of: so no two can wait for each other, and none for itself.
 */
function inside(parent: CallState, lane: ConcurrencyQueue, limits: SharedLimits): Admission {
  const held = new Set<ConcurrencyLimit>();
  for (let outer: CallState | undefined = parent; outer !== undefined; outer = outer.parent)
    for (const bound of outer.limits) held.add(bound);
  if (held.size === 0) return { lane, waits: true };
  const wanted = lane.limits.filter((bound) => !held.has(bound));
  const last = Math.max(...[...held].map(({ rank }) => rank));
  return { lane: limits.lane(wanted), waits: wanted.every(({ rank }) => rank > last) };
}

/** Runs it in its places, and gives them back. */
function occupied<R>(call: StepCall, lane: ConcurrencyQueue, start: Next<R>): MaybePromise<R> {
  const { state } = call;
  state.limits = lane.limits;
  const leave = () => {
    state.limits = [];
    lane.give();
  };
  let result: MaybePromise<R>;
  try {
    result = start(call);
  } catch (error) {
    leave();
    throw error;
  }
  if (result instanceof Promise) result.then(leave, leave);
  else leave();
  return result;
}

/** Waits until its places are taken for it. */
async function place(state: CallState, lane: ConcurrencyQueue, room: DeadlineScheduler): Promise<void> {
  const turn = Promise.withResolvers<void>();
  let granted = false;
  const ticket = {
    owner: ownerOf(state),
    granted: () => {
      granted = true;
      turn.resolve();
    },
    refused: () => turn.reject(full(state, lane)),
  };
  if (!lane.enter(ticket)) throw full(state, lane);
  try {
    await room.wait(turn.promise, state, unlimited);
  } catch (error) {
    if (granted) lane.give();
    else lane.leave(ticket);
    throw error;
  }
}

/** Who has turns of their own: a principal, else a session, else all who say nothing of themselves together. */
function ownerOf({ givenSession }: CallState): string {
  if (givenSession === undefined) return "";
  return givenSession.principal === undefined ? `session ${givenSession.id}` : `principal ${givenSession.principal}`;
}

function full({ ref }: CallState, { maxWaiting: max }: ConcurrencyQueue): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `${ref} was not called: ${max} calls wait for a place already, as many as maxQueuedCalls allows. Call less at once.`;
  const details = { limit: "maxQueuedCalls", max };
  return new ToolkitError("LIMIT_EXCEEDED", message, details, { ref, phase: "policy" });
}
