import type { Clock } from "../../lib/clock.ts";

/** Waits. @throws the signal's reason when it aborts first */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      timer.cancel();
      reject(signal.reason);
    };
    const timer = clock.setTimer(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    timer.keepAlive(true);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
