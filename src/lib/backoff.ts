import type { Clock } from "./clock.ts";
import { abortable } from "./promise.ts";

/** The bounds of the wait between attempts. */
export interface BackoffOptions {
  /** The bound of the first wait. */
  readonly baseMs: number;
  /** The bound no wait goes beyond. */
  readonly maxMs: number;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
}

/**
 * Exponential backoff with full jitter: the wait before retry `failures` (from 1) is anywhere between 0 and a bound that doubles.
 * With 0 failures there is no wait.
 *
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
 */
export function backoffDelay(failures: number, { baseMs, maxMs, random }: BackoffOptions): number {
  if (failures <= 0) return 0;
  return random() * Math.min(maxMs, baseMs * 2 ** (failures - 1));
}

/** The clock of a pause, and the signal that ends it early. */
export interface PauseOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
}

/** Lets time pass; meanwhile the process stays alive. Rejects with the reason of the signal when that aborts first. */
export async function pause(delayMs: number, { clock, signal }: PauseOptions): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = clock.setTimer(over.resolve, delayMs);
  timer.keepAlive(true);
  try {
    await abortable(over.promise, signal);
  } finally {
    timer.cancel();
  }
}

/**
 * Runs an action with a signal that aborts with the given one, or with a TimeoutError, as that of `AbortSignal.timeout` does, after a time of the
 * clock.
 */
export async function withinTime<T>(
  limitMs: number,
  { clock, signal }: PauseOptions,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const message = `The operation took longer than ${limitMs} ms.`;
  const timer = clock.setTimer(() => late.abort(new DOMException(message, "TimeoutError")), limitMs);
  try {
    return await run(signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]));
  } finally {
    timer.cancel();
  }
}
