import { ToolkitError } from "../../core/error.ts";
import type { Clock } from "../../lib/clock.ts";

/** How long a run may take, and who else may end it. */
export interface DeadlineOptions {
  readonly ref: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

/**
 * Does something under a signal that aborts with the caller's, or with `TIMEOUT` when the time is over.
 *
 * @throws whatever it throws; ToolkitError `TIMEOUT` for whatever that was once the time was over
 */
export async function withinDeadline<T>(
  { ref, signal, clock, timeoutMs }: DeadlineOptions,
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
    controller.abort(tooLate(ref, timeoutMs));
  }, timeoutMs);
  try {
    return await run(controller.signal);
  } catch (error) {
    // One of its own: that of the signal is by now the answer of the calls it ended.
    if (isLate && !signal.aborted) throw tooLate(ref, timeoutMs);
    throw controller.signal.aborted ? controller.signal.reason : error;
  } finally {
    timer.cancel();
    signal.removeEventListener("abort", onAbort);
  }
}

function tooLate(ref: string, timeoutMs: number): ToolkitError<"TIMEOUT"> {
  const message = `The run of ${ref} took longer than ${timeoutMs} ms (timeoutMs of the agent).`;
  return new ToolkitError("TIMEOUT", message, { limit: "total", limitMs: timeoutMs, elapsedMs: timeoutMs });
}
