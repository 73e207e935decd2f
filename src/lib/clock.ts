/** A timer that was set. */
export interface Timer {
  cancel(): void;
  /** Whether it keeps the process alive. It does not at first. */
  keepAlive(keep: boolean): void;
}

/** Time, so that a test can make it pass. */
export interface Clock {
  /** Milliseconds since the epoch; never goes back. */
  now(): number;
  /** Calls back once after so many milliseconds. */
  setTimer(callback: () => void, delayMs: number): Timer;
}

/** The longest delay Node's timers take. */
const maxDelayMs = 2 ** 31 - 1;

// Read once: to read it costs more than the time itself.
const { timeOrigin } = performance;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => timeOrigin + performance.now(),
  setTimer(callback, delayMs) {
    const timeout = setTimeout(callback, Math.min(delayMs, maxDelayMs));
    timeout.unref();
    return {
      cancel: () => clearTimeout(timeout),
      keepAlive: (keep) => {
        if (keep) timeout.ref();
        else timeout.unref();
      },
    };
  },
};
