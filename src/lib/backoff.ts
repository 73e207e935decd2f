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
