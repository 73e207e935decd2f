import type { Clock } from "../lib/clock.ts";
import { ToolkitError } from "./error.ts";

/** A limit of time, and the signal that may end the work earlier. */
export interface WorkDeadline {
  /** The work, for the message: `The run of prompts.a`. */
  readonly what: string;
  /** The name of the limit, for the message. */
  readonly limit: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/**
 * Runs an action with a signal that aborts with that of the caller, or with `TIMEOUT` at the limit.
 *
 * @throws the error of the action; after the limit ToolkitError `TIMEOUT` in its place
 */
export async function withinDeadline<T>(
  { signal, clock, timeoutMs, ...named }: WorkDeadline,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  if (timeoutMs === Number.POSITIVE_INFINITY) return run(signal);
  const controller = new AbortController();
  const onAbort = () => controller.abort(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener("abort", onAbort, { once: true });
  let isLate = false;
  const timer = clock.setTimer(() => {
    isLate = true;
    controller.abort(lateError(named, timeoutMs));
  }, timeoutMs);
  try {
    return await run(controller.signal);
  } catch (error) {
    // A new error: that of the signal already belongs to the calls that it ended.
    if (isLate && !signal.aborted) throw lateError(named, timeoutMs);
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

function lateError({ what, limit }: Pick<WorkDeadline, "what" | "limit">, limitMs: number): ToolkitError<"TIMEOUT"> {
  const message = `${what} took longer than ${limitMs} ms (${limit}).`;
  return new ToolkitError("TIMEOUT", message, { limit: "total", limitMs, elapsedMs: limitMs });
}
