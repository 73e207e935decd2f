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
 * The limits of an attempt for a target; undefined where it has none, as prompts. `maxTimeoutMs` is the operator's: no tool is given more,
 * however long it may be silent.
 */
export function limitsOf(
  { verb, definition, settings }: Target,
  { timeoutMs, maxTimeoutMs }: TimeoutOptions,
): CallLimits | undefined {
  const inactivityMs = settings.timeoutMs ?? timeoutMs;
  const isUnbounded = definition.kind === "prompt" && verb !== "complete";
  if (isUnbounded || Math.min(inactivityMs, maxTimeoutMs) === Number.POSITIVE_INFINITY) return undefined;
  return { of: "attempt", inactivityMs, totalMs: maxTimeoutMs };
}
