import type { CallLimits } from "./call-lifetime.ts";
import type { Target } from "./step.ts";

/** The limits of time of one attempt. */
export interface TimeoutOptions {
  /** The longest time without a sign of life, in milliseconds, where neither the tool nor its connector has its own. */
  readonly timeoutMs: number;
  /** The longest time of an attempt in all, in milliseconds, whatever it reports. */
  readonly maxTimeoutMs: number;
}

/**
 * The limits of an attempt for a target; undefined where it has none, as prompts. A tool that may be silent for an hour has that hour in
 * all too.
 */
export function limitsOf(
  { verb, definition, settings }: Target,
  { timeoutMs, maxTimeoutMs }: TimeoutOptions,
): CallLimits | undefined {
  const inactivityMs = settings.timeoutMs ?? timeoutMs;
  const isUnbounded = definition.kind === "prompt" && verb !== "complete";
  if (isUnbounded || inactivityMs === Number.POSITIVE_INFINITY) return undefined;
  return { of: "attempt", inactivityMs, totalMs: Math.max(maxTimeoutMs, inactivityMs) };
}
