import type { DeadlineScheduler, Settlement } from "../lib/deadline-scheduler.ts";
import type { CallState } from "./call-state.ts";
import type { Target } from "./step.ts";
import type { CallLimits } from "./timeout-error.ts";

/** The limits of time of one attempt. */
export interface TimeoutOptions {
  /** How long a tool may show no sign of life, in milliseconds, where neither it nor its connector says otherwise. */
  readonly timeoutMs: number;
  /** How long an attempt may take in all, whatever it reports. */
  readonly maxTimeoutMs: number;
}

/** Waits for what an attempt promised, and for what is made of it. */
export type AwaitAttempt = <T, R>(
  promise: Promise<T>,
  state: CallState,
  settle: Settlement<T, CallState, R>,
) => Promise<R>;

/**
 * Ends an attempt that shows no sign of life for too long, or takes too long in all. Prompts have no limit of their own.
 *
 * It is handed to the run rather than put around it, so that both share one promise, and what is answered at once needs none.
 */
export function timeout(target: Target, room: DeadlineScheduler, options: TimeoutOptions): AwaitAttempt {
  const limits = limitsOf(target, options);
  if (limits === undefined) return unlimited;
  return (promise, state, settle) => room.wait(promise, state, limits, settle);
}

/** The limits of an attempt for a target; undefined where it has none. */
export function limitsOf({ definition, settings }: Target, options: TimeoutOptions): CallLimits | undefined {
  const inactivityMs = settings.timeoutMs ?? options.timeoutMs;
  if (definition.kind === "prompt" || inactivityMs === Number.POSITIVE_INFINITY) return undefined;
  return attemptLimits(inactivityMs, options);
}

const unlimited: AwaitAttempt = (promise, state, settle) =>
  promise.then(
    (value) => settle.receive(value, state),
    (thrown) => settle.fail(thrown, state),
  );

/** The limits of an attempt. Who says that a tool may be silent for an hour does not mean ten minutes in all. */
export function attemptLimits(inactivityMs: number, { maxTimeoutMs }: TimeoutOptions): CallLimits {
  return { of: "attempt", inactivityMs, totalMs: Math.max(maxTimeoutMs, inactivityMs) };
}
