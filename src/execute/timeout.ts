import { ToolkitError } from "../core/error.ts";
import { isPromiseLike } from "../lib/promise.ts";
import type { WaitingRoom } from "../lib/waiting-room.ts";
import type { CallState } from "./state.ts";
import type { Step } from "./step.ts";

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
    const inactivityMs = target.definition.options?.timeoutMs ?? options.timeoutMs;
    // Who says that a tool may be silent for an hour does not mean ten minutes.
    const totalMs = Math.max(options.maxTimeoutMs, inactivityMs);
    if (inactivityMs === Number.POSITIVE_INFINITY) return next;
    return (call) => {
      const result = next(call);
      if (!isPromiseLike(result)) return result;
      const { state } = call;
      return room.wait(
        result,
        {
          inactivityMs,
          totalMs,
          onLimit: (limit, elapsedMs) =>
            limitError(state, limit, limit === "total" ? totalMs : inactivityMs, elapsedMs),
          onCut: (reason) => state.cut(reason),
        },
        (wait) => state.waits(wait),
      );
    };
  };
}

/** The error for a limit of time: what the call was waiting for where it says so, else `TIMEOUT`. */
export function limitError(
  state: CallState,
  limit: "inactivity" | "total" | "call",
  limitMs: number,
  elapsedMs: number,
): Error {
  const blocked = state.waitingFor?.();
  if (blocked !== undefined) return blocked;
  const what = {
    inactivity: `showed no sign of life for ${limitMs} ms`,
    total: `took longer than ${limitMs} ms, the most an attempt may take`,
    call: `took longer than the ${limitMs} ms its caller gave it`,
  }[limit];
  return new ToolkitError(
    "TIMEOUT",
    `${state.ref} ${what}.`,
    { limit, limitMs, elapsedMs: Math.round(elapsedMs) },
    { ref: state.ref, phase: "execute" },
  );
}
