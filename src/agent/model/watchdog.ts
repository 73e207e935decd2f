import type { Clock, Timer } from "../../lib/clock.ts";

/** The model sent nothing for too long. */
class ModelSilence extends Error {
  override readonly name = "ModelSilence";

  constructor(limitMs: number) {
    super(`It sent nothing for ${limitMs} ms (modelTimeoutMs).`);
  }
}

/** The reason with which a request is aborted once its answer is complete, or not wanted any more. */
const ended = new Error("The answer of the model is not needed any more.");

/** The limits of one request. */
export interface WatchdogOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** Limit of a single wait, in milliseconds. */
  readonly limitMs: number;
}

/**
 * Ends one request to a model when its caller aborts, or when the model sends nothing for too long. Only the time spent waiting for the
 * model counts: a slow reader does not.
 */
export class Watchdog {
  readonly #controller = new AbortController();
  /** Aborts the request. */
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #options: WatchdogOptions;
  readonly #onAbort: () => void;
  /** One timer for all waits: a stream has thousands. */
  #timer: Timer | undefined;
  #waitingSince: number | undefined;
  #rejectWait: ((reason: unknown) => void) | undefined;

  constructor(options: WatchdogOptions) {
    this.#options = options;
    const { signal } = options;
    this.#onAbort = () => this.#abort(signal.reason);
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Waits for the model, one thing at a time. Rejects at once with the reason of an abort, or with a ModelSilence, whatever the model does. */
  wait<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      if (this.signal.aborted) reject(this.signal.reason);
      // No abort listener for each wait: every abort rejects the one wait there is.
      this.#rejectWait = reject;
      this.#waitingSince = this.#options.clock.now();
      if (this.#timer === undefined) this.#arm(this.#options.limitMs);
      promise.then(
        (value) => {
          this.#waitingSince = undefined;
          resolve(value);
        },
        (error) => {
          this.#waitingSince = undefined;
          reject(error);
        },
      );
    });
  }

  /** Waits for a promise that does not reject, up to a limit. */
  async atMost(promise: Promise<void>, limitMs: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    const timer = this.#options.clock.setTimer(over.resolve, limitMs);
    try {
      await Promise.race([promise, over.promise]);
    } finally {
      timer.cancel();
    }
  }

  /** The answer is complete, and nothing of the request is left to be ended. */
  release(): void {
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#timer?.cancel();
  }

  /** Ends the request, if it has not ended. */
  end(): void {
    this.release();
    this.#abort(ended);
  }

  #arm(delayMs: number): void {
    this.#timer = this.#options.clock.setTimer(() => this.#expire(), delayMs);
    this.#timer.keepAlive(true);
  }

  #expire(): void {
    const { clock, limitMs } = this.#options;
    const leftMs = this.#waitingSince === undefined ? limitMs : this.#waitingSince + limitMs - clock.now();
    if (leftMs > 0) this.#arm(leftMs);
    else this.#abort(new ModelSilence(limitMs));
  }

  #abort(reason: unknown): void {
    this.#waitingSince = undefined;
    this.#controller.abort(reason);
    this.#rejectWait?.(this.signal.reason);
  }
}
