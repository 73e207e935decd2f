import { ToolkitError } from "../core/error.ts";
import type { TimeLimits } from "../lib/deadline-scheduler.ts";

/** Limits that know whose they are. */
export interface CallLimits extends TimeLimits {
  /** Those of one attempt, or of the call as its caller gave it. */
  readonly of: "attempt" | "call";
  /** What of the limit had passed before this wait began, in milliseconds. */
  readonly spentMs?: number | undefined;
}

/** True for the limits of a whole call. */
export function isCallLimit(limits: TimeLimits): boolean {
  return (limits as CallLimits).of === "call";
}

/** The error for a limit of time that was reached. */
export function timeoutError(
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
    call: `took longer than the ${limitMs} ms its caller gave it`,
  }[limit];
  const details = { limit, limitMs, elapsedMs: Math.round(elapsedMs + spentMs) } as const;
  return new ToolkitError("TIMEOUT", `${ref} ${what}.`, details, { ref, phase: "execute" });
}
