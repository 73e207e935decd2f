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
  setTimer: (callback, delayMs) => new SystemTimer(callback, delayMs),
};

// A class, for every call sets timers: functions of their own for each would cost more than the timer.
class SystemTimer implements Timer {
  #timeout: NodeJS.Timeout;
  #keeps = false;

  constructor(callback: () => void, delayMs: number) {
    this.#timeout = this.#started(callback, delayMs);
    this.#timeout.unref();
  }

  cancel(): void {
    clearTimeout(this.#timeout);
  }

  keepAlive(keep: boolean): void {
    this.#keeps = keep;
    this.#apply();
  }

  #started(callback: () => void, leftMs: number): NodeJS.Timeout {
    if (leftMs <= maxDelayMs) return setTimeout(callback, leftMs);
    return setTimeout(() => {
      this.#timeout = this.#started(callback, leftMs - maxDelayMs);
      this.#apply();
    }, maxDelayMs);
  }

  #apply(): void {
    if (this.#keeps) this.#timeout.ref();
    else this.#timeout.unref();
  }
}

/** Keeps the process alive until the returned function is called: for a wait that nothing else may be seen to end. */
export function keepProcessAlive(clock: Clock): () => void {
  const timer = clock.setTimer(() => undefined, Number.POSITIVE_INFINITY);
  timer.keepAlive(true);
  return () => timer.cancel();
}
