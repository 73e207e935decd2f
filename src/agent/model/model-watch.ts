import type { Clock, Timer } from "../../lib/clock.ts";

/** The model was silent for too long. */
class Silence extends Error {
  override readonly name = "Silence";

  constructor(limitMs: number) {
    super(`It gave no sign of life for ${limitMs} ms (modelTimeoutMs).`);
  }
}

/** Why a request is aborted that has ended, or that nobody waits for. */
const ended = new Error("Nobody waits for this model any more.");

/** What a request is watched by. */
export interface WatchOptions {
  readonly signal: AbortSignal;
  readonly clock: Clock;
  /** How long a single wait may take. */
  readonly limitMs: number;
}

/**
 * Ends one request to a model when its caller aborts, or when it is silent for too long. Only while somebody waits for the model the time
 * counts: a slow reader is no silence.
 */
export class Watch {
  readonly #controller = new AbortController();
  readonly #options: WatchOptions;
  readonly #onAbort: () => void;
  /** One for all waits: a stream has thousands. */
  #timer: Timer | undefined;
  #waitingSince: number | undefined;
  #giveUp: ((reason: unknown) => void) | undefined;

  constructor(options: WatchOptions) {
    this.#options = options;
    const { signal } = options;
    this.#onAbort = () => this.#abort(signal.reason);
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  /** Aborts the request. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Waits for the model, one thing at a time. Rejects at once with the reason of an abort, or with a Silence, whatever the model does. */
  wait<T>(promise: PromiseLike<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.signal.aborted) reject(this.signal.reason);
      // No listener for each wait: all that aborts goes through here.
      this.#giveUp = reject;
      this.#waitingSince = this.#options.clock.now();
      if (this.#timer === undefined) this.#arm(this.#options.limitMs);
      const over = () => {
        this.#waitingSince = undefined;
      };
      promise.then(
        (value) => {
          over();
          resolve(value);
        },
        (error) => {
          over();
          reject(error);
        },
      );
    });
  }

  /** Waits for what must not fail, but no longer than that. */
  async atMost(promise: Promise<void>, limitMs: number): Promise<void> {
    const over = Promise.withResolvers<void>();
    const timer = this.#options.clock.setTimer(over.resolve, limitMs);
    try {
      await Promise.race([promise, over.promise]);
    } finally {
      timer.cancel();
    }
  }

  /** Ends the request, where it has not ended. */
  end(): void {
    this.#options.signal.removeEventListener("abort", this.#onAbort);
    this.#timer?.cancel();
    this.#abort(ended);
  }

  #arm(delayMs: number): void {
    this.#timer = this.#options.clock.setTimer(() => this.#look(), delayMs);
    this.#timer.keepAlive(true);
  }

  #look(): void {
    const { clock, limitMs } = this.#options;
    const leftMs = this.#waitingSince === undefined ? limitMs : this.#waitingSince + limitMs - clock.now();
    if (leftMs > 0) this.#arm(leftMs);
    else this.#abort(new Silence(limitMs));
  }

  #abort(reason: unknown): void {
    this.#controller.abort(reason);
    this.#giveUp?.(this.signal.reason);
  }
}
