import { ToolkitError } from "../core/error.ts";
import type { ConcurrencyLimit, ConcurrencyQueue } from "../lib/concurrency-queue.ts";
import { unlimited } from "../lib/deadline.ts";
import type { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import type { MaybePromise } from "../lib/promise.ts";
import { turnOwner } from "./call-port.ts";
import type { CallState } from "./call-state.ts";
import type { AttemptWindow, SharedLimits } from "./shared-limits.ts";
import { type ActionResult, described, type Next, type Step, type StepCall, type Target } from "./step.ts";

/** The parts of limits on attempts. */
export interface RateLimitOptions {
  readonly limits: SharedLimits;
  readonly deadlines: DeadlineScheduler;
}

/**
 * Refuses an attempt where there were too many of late, and lets it wait where too many are at work. The caller's abort and deadline
 * end the wait.
 */
export function limitRate({ limits, deadlines }: RateLimitOptions): Step {
  const step: Step = (target, next) => {
    const { rateLimit, maxConcurrent } = target.settings;
    if (rateLimit === undefined && maxConcurrent === undefined) return next;
    const { windows, concurrency } = limits.of(target);
    const start = windows.length === 0 ? next : (call: StepCall) => next(spent(call, windows, deadlines));
    const queue = limits.queue(concurrency);
    if (queue === undefined) return start;
    const fromOutside: Admission = { queue, waits: true };
    return (call) => {
      // Refused at once rather than after a wait; its share is counted when it begins.
      for (const window of windows) assertFree(window, call.state, deadlines.clock.now());
      const admission = call.state.parent === undefined ? fromOutside : inside(call.state.parent, queue, limits);
      return admit(call, admission, start);
    };
  };
  const settingsFor = (target: Target) => {
    const { windows, concurrency } = limits.of(target);
    const rateLimits = windows.map(({ counted: { max, windowMs }, per }) => ({ calls: max, perMs: windowMs, per }));
    return { rateLimits, maxConcurrent: concurrency.map(({ max }) => max) };
  };
  return described(settingsFor, step);

  async function queued(call: StepCall, queue: ConcurrencyQueue, start: Next): Promise<ActionResult> {
    limits.queued += 1;
    try {
      await place(call.state, queue, deadlines);
    } finally {
      limits.queued -= 1;
    }
    return occupied(call, queue, start);
  }

  function admit(call: StepCall, { queue, waits }: Admission, start: Next): MaybePromise<ActionResult> {
    if (queue === undefined) return start(call);
    if (queue.take()) return occupied(call, queue, start);
    if (waits) return queued(call, queue, start);
    queue.takeAnyway();
    return occupied(call, queue, start);
  }
}

/** Counts an attempt that begins now. @throws ToolkitError `RATE_LIMITED` */
function spent(call: StepCall, windows: readonly AttemptWindow[], { clock }: DeadlineScheduler): StepCall {
  const now = clock.now();
  for (const window of windows) assertFree(window, call.state, now);
  for (const window of windows) window.counted.spend(payerOf(window, call.state), now);
  return call;
}

function assertFree(window: AttemptWindow, state: CallState, now: number): void {
  const retryAfterMs = Math.ceil(window.counted.waitMs(payerOf(window, state), now));
  if (retryAfterMs === 0) return;
  const { ref } = state;
  const { max, windowMs } = window.counted;
  const message = `${ref} was not called: its limit is ${max} in ${windowMs} ms. Call again in ${retryAfterMs} ms.`;
  throw new ToolkitError("RATE_LIMITED", message, { retryAfterMs }, { ref, phase: "policy" });
}

/** The owner of the window that an attempt counts in. Sessions without a principal share one: a new session is no way around a limit. */
function payerOf({ per }: AttemptWindow, { givenSession }: CallState): string {
  return per === "all" ? "" : (givenSession?.principal ?? "");
}

interface Admission {
  /** Undefined where it needs no place. */
  readonly queue: ConcurrencyQueue | undefined;
  readonly waits: boolean;
}

/**
 * The admission of a call inside another. It shares the places of that one. It waits only under limits of a later rank than all those it
 * is inside of: so no two calls can wait for each other, and none for itself.
 */
function inside(parent: CallState, queue: ConcurrencyQueue, limits: SharedLimits): Admission {
  const held = new Set<ConcurrencyLimit>();
  for (let outer: CallState | undefined = parent; outer !== undefined; outer = outer.parent)
    for (const limit of outer.limits) held.add(limit);
  if (held.size === 0) return { queue, waits: true };
  const wanted = queue.limits.filter((limit) => !held.has(limit));
  const last = Math.max(...[...held].map(({ rank }) => rank));
  return { queue: limits.queue(wanted), waits: wanted.every(({ rank }) => rank > last) };
}

/** Runs it in its places, and gives them back. */
function occupied(call: StepCall, queue: ConcurrencyQueue, start: Next): MaybePromise<ActionResult> {
  const { state } = call;
  state.limits = queue.limits;
  const leave = () => {
    state.limits = [];
    queue.give();
  };
  let result: MaybePromise<ActionResult>;
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
async function place(state: CallState, queue: ConcurrencyQueue, deadlines: DeadlineScheduler): Promise<void> {
  const turn = Promise.withResolvers<void>();
  let granted = false;
  const entry = {
    owner: turnOwner(state),
    granted: () => {
      granted = true;
      turn.resolve();
    },
    refused: () => turn.reject(full(state, queue)),
  };
  if (!queue.enter(entry)) throw full(state, queue);
  try {
    await deadlines.wait(turn.promise, state, unlimited);
  } catch (error) {
    if (granted) queue.give();
    else queue.leave(entry);
    throw error;
  }
}

function full({ ref }: CallState, { maxWaiting: max }: ConcurrencyQueue): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `${ref} was not called: ${max} calls wait for a place already, as many as maxQueuedCalls allows. Call less at once.`;
  const details = { limit: "maxQueuedCalls", max };
  return new ToolkitError("LIMIT_EXCEEDED", message, details, { ref, phase: "policy" });
}
