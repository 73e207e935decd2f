import type { WaitingRoom } from "../lib/waiting-room.ts";
import type { Step } from "./step.ts";
import type { CallLimits } from "./timeout-error.ts";

/** The limits of time of one attempt. */
export interface TimeoutOptions {
  /** How long a tool may show no sign of life, in milliseconds, where neither it nor its connector says otherwise. */
  readonly timeoutMs: number;
  /** How long an attempt may take in all, whatever it reports. */
  readonly maxTimeoutMs: number;
}

/** Ends an attempt that shows no sign of life for too long, or takes too long in all. Prompts have no limit of their own. */
export function timeout(room: WaitingRoom, options: TimeoutOptions): Step {
  return (target, next) => {
    if (target.definition.kind === "prompt") return next;
    const limits = attemptLimits(target.definition.options?.timeoutMs ?? options.timeoutMs, options);
    if (limits.inactivityMs === Number.POSITIVE_INFINITY) return next;
    return (call) => {
      const result = next(call);
      return result instanceof Promise ? room.wait(result, call.state, limits) : result;
    };
  };
}

/** The limits of an attempt. Who says that a tool may be silent for an hour does not mean ten minutes in all. */
export function attemptLimits(inactivityMs: number, { maxTimeoutMs }: TimeoutOptions): CallLimits {
  return { of: "attempt", inactivityMs, totalMs: Math.max(maxTimeoutMs, inactivityMs) };
}
