import type { Clock } from "./clock.ts";
import { abortable } from "./promise.ts";

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
