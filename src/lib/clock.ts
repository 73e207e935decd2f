/** A timer that was set. */
export interface Timer {
  cancel(): void;
  /** Whether it keeps the process alive. It does not at first. */
  keepAlive(keep: boolean): void;
}

/** Time and timers, which a test can control. */
export interface Clock {
  /** Milliseconds since the epoch; never goes back. */
  now(): number;
  /** Calls back once after so many milliseconds, however many; never for `Number.POSITIVE_INFINITY`. */
  setTimer(callback: () => void, delayMs: number): Timer;
}

/** The longest delay Node's timers take, about 24.8 days. */
const maxDelayMs = 2 ** 31 - 1;

// Read once: to read it costs more than the time itself.
const { timeOrigin } = performance;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => timeOrigin + performance.now(),
  setTimer(callback, delayMs) {
    let timeout: NodeJS.Timeout;
    let keeps = false;
    const apply = () => {
      if (keeps) timeout.ref();
      else timeout.unref();
    };
    const set = (leftMs: number) => {
      timeout =
        leftMs > maxDelayMs ? setTimeout(() => set(leftMs - maxDelayMs), maxDelayMs) : setTimeout(callback, leftMs);
      apply();
    };
    set(delayMs);
    return {
      cancel: () => clearTimeout(timeout),
      keepAlive: (keep) => {
        keeps = keep;
        apply();
      },
    };
  },
};

/** Keeps the process alive until the returned function is called: for a wait that nothing else may be seen to end. */
export function keepProcessAlive(clock: Clock): () => void {
  const timer = clock.setTimer(() => undefined, Number.POSITIVE_INFINITY);
  timer.keepAlive(true);
  return () => timer.cancel();
}
