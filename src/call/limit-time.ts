import type { DeadlineScheduler, Settlement } from "../lib/deadline-scheduler.ts";
import type { CallLimits } from "./call-lifetime.ts";
import type { CallState } from "./call-state.ts";
import type { Target } from "./step.ts";

/** The limits of time of one attempt. */
export interface TimeoutOptions {
  /** The longest time without a sign of life, in milliseconds, where neither the tool nor its connector has its own. */
  readonly timeoutMs: number;
  /** The longest time of an attempt in all, in milliseconds, whatever it reports. */
  readonly maxTimeoutMs: number;
}

/** Waits for the promise of an attempt, and for the answer that is made of its result. */
export type AwaitAttempt = <T, R>(
  promise: Promise<T>,
  state: CallState,
  settle: Settlement<T, CallState, R>,
) => Promise<R>;

/**
 * Ends an attempt that shows no sign of life for too long, or takes too long in all. Prompts have no limit of their own.
 *
 * It is handed to the run rather than put around it, so that both share one promise, and a result that is there at once needs none.
 */
export function limitTime(target: Target, deadlines: DeadlineScheduler, options: TimeoutOptions): AwaitAttempt {
  const limits = limitsOf(target, options);
  if (limits === undefined) return unlimited;
  return (promise, state, settle) => deadlines.wait(promise, state, limits, settle);
}

/** The limits of an attempt for a target; undefined where it has none. A tool that may be silent for an hour has that hour in all too. */
export function limitsOf(
  { definition, settings }: Target,
  { timeoutMs, maxTimeoutMs }: TimeoutOptions,
): CallLimits | undefined {
  const inactivityMs = settings.timeoutMs ?? timeoutMs;
  if (definition.kind === "prompt" || inactivityMs === Number.POSITIVE_INFINITY) return undefined;
  return { of: "attempt", inactivityMs, totalMs: Math.max(maxTimeoutMs, inactivityMs) };
}

const unlimited: AwaitAttempt = (promise, state, settle) =>
  promise.then(
    (value) => settle.receive(value, state),
    (thrown) => settle.fail(thrown, state),
  );
