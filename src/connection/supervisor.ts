import type { ConnectionState } from "../core/connection.ts";
import { toError } from "../core/error.ts";
import { retryAfterMs } from "../core/retry-after.ts";
import { backoffDelay } from "../lib/backoff.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { abortable } from "../lib/promise.ts";

/** One generation of a connection, which a supervisor keeps alive. */
export interface Generation extends AsyncDisposable {
  /** Resolves when it has ended, with the reason unless it was disposed of. Never rejects. */
  readonly closed: Promise<Error | undefined>;
}

/** Options of a supervisor. */
export interface SupervisorOptions<G extends Generation> {
  /**
   * Makes a generation, ready for use. Ends all it started before it rejects.
   *
   * @param pause - stops the time limit of the attempt while a person has to act; the reason is shown as `lastError` until it is called
   *   with undefined
   */
  open(signal: AbortSignal, pause: (reason: Error | undefined) => void): Promise<G>;
  readonly clock: Clock;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  /** Upper bound of the first wait after a failed attempt, in milliseconds. */
  readonly retryMs: number;
  /** Upper bound of every wait, in milliseconds. */
  readonly maxRetryMs: number;
  /** Time limit of one attempt, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** Makes the error for an attempt that took too long. */
  timedOut(): Error;
  /** Failed attempts in a row after which it gives up. Default: never. */
  readonly maxAttempts?: number | undefined;
  /** True for the error of an attempt that a later one would meet again: none is made until `reconnect`. Default: no error is. */
  readonly isLasting?: ((error: Error) => boolean) | undefined;
  /** Called after each change of state. */
  onChange(change: SupervisorChange<G>): void;
  /** Called with failures that no caller awaits: of the end of a generation, or of `onChange` itself. */
  onError(error: unknown): void;
}

/** A change of state that has happened. */
export interface SupervisorChange<G> {
  readonly from: ConnectionState;
  readonly to: ConnectionState;
  readonly generation: G | undefined;
  /** The reason an attempt or generation ended. */
  readonly error: Error | undefined;
  /** Time until the next attempt. */
  readonly retryInMs: number | undefined;
}

/**
 * The age from which a generation counts as stable, in milliseconds. The first that ends sooner is followed at once; from the second in
 * a row on, the wait grows, so that a server that dies after each handshake does not cause a storm of handshakes.
 */
export const stableAfterMs = 5_000;

/**
 * Keeps one generation of a connection alive.
 *
 * ```
 *            start                opened                lost (at once the first time)
 *   idle ────────────> connecting ──────> connected ───────────────┐
 *                          ^  │ failed                             │
 *                          │  v                                    v
 *                          └─ waiting <──────────────────── connecting
 *                       2 s doubling to 20 min, full jitter
 *
 *   waiting without a next attempt: after an error that lasts, until reconnect()
 *   stopped: from every state, by stop() or after maxAttempts, for good
 * ```
 *
 * Each attempt is a new generation. An old one can change nothing: whatever it does after its end is ignored.
 */
export class Supervisor<G extends Generation> {
  readonly #options: SupervisorOptions<G>;
  #state: ConnectionState = "idle";
  #since: number;
  #generation: G | undefined;
  #attempt: AbortController | undefined;
  #timer: Timer | undefined;
  #nextAttemptAt: number | undefined;
  #attempts = 0;
  /** Failures in a row, which determine the next wait. */
  #failures = 0;
  /** Generations in a row that ended before they were stable. */
  #flaps = 0;
  #lastError: Error | undefined;
  /** Attempts and generations that have not ended yet. */
  readonly #ending = new Set<Promise<void>>();

  constructor(options: SupervisorOptions<G>) {
    this.#options = options;
    this.#since = options.clock.now();
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Time of the last change of state, in milliseconds since the epoch. */
  get since(): number {
    return this.#since;
  }

  /** The connected generation. */
  get generation(): G | undefined {
    return this.#generation;
  }

  /** Attempts since the last handshake, or since `reconnect`. */
  get attempts(): number {
    return this.#attempts;
  }

  get lastError(): Error | undefined {
    return this.#lastError;
  }

  get nextAttemptAt(): number | undefined {
    return this.#nextAttemptAt;
  }

  /** Makes the first attempt; does nothing after that. */
  start(): void {
    if (this.#state === "idle") this.#connect(undefined);
  }

  /** Drops the attempt, wait or generation and connects at once, with all counts reset. Does nothing after `stop`. */
  reconnect(): void {
    if (this.#state === "stopped") return;
    this.#attempts = 0;
    this.#failures = 0;
    this.#flaps = 0;
    this.#drop(undefined);
    this.#connect(undefined);
  }

  /** Stops for good and ends everything it started; resolves when all of that has ended. */
  async stop(error?: Error): Promise<void> {
    if (this.#state !== "stopped") {
      this.#drop(error);
      this.#change("stopped", error);
    }
    // An ending may start another, such as that of an attempt that succeeds too late.
    while (this.#ending.size > 0) await Promise.all(this.#ending);
  }

  #connect(error: Error | undefined): void {
    const attempt = new AbortController();
    this.#attempt = attempt;
    this.#attempts += 1;
    this.#change("connecting", error);
    this.#track(this.#open(attempt));
  }

  async #open(attempt: AbortController): Promise<void> {
    const { open, connectTimeoutMs, clock, timedOut } = this.#options;
    const { signal } = attempt;
    const setLimit = () => clock.setTimer(() => attempt.abort(timedOut()), connectTimeoutMs);
    let limit = setLimit();
    let before = this.#lastError;
    const pause = (reason: Error | undefined) => {
      if (this.#attempt !== attempt) return;
      limit.cancel();
      if (reason !== undefined) return this.#paused(reason);
      limit = setLimit();
      this.#lastError = before;
    };
    const opening = Promise.resolve().then(() => open(signal, pause));
    try {
      const generation = await abortable(opening, signal);
      signal.throwIfAborted();
      this.#opened(generation);
    } catch (thrown) {
      // A generation that is opened after all is not used. The attempt is over only when that has ended too.
      this.#track(
        opening.then(
          (late) => late[Symbol.asyncDispose](),
          () => undefined,
        ),
      );
      if (this.#attempt === attempt) this.#failed(toError(thrown));
    } finally {
      limit.cancel();
      // The generation retains this closure: with the earlier error it would retain the generation before it, and so on.
      before = undefined;
    }
  }

  /** The attempt goes on without a time limit: reports the reason once. */
  #paused(reason: Error): void {
    if (reason.message === this.#lastError?.message) return;
    this.#lastError = reason;
    this.#report({ from: "connecting", to: "connecting", generation: undefined, error: reason, retryInMs: undefined });
  }

  #opened(generation: G): void {
    this.#attempt = undefined;
    this.#generation = generation;
    this.#attempts = 0;
    this.#failures = 0;
    const lost = (error: Error | undefined) => {
      if (this.#generation === generation) this.#lost(generation, error);
    };
    generation.closed.then(lost, (thrown) => lost(toError(thrown)));
    this.#change("connected", undefined);
  }

  #lost(generation: G, error: Error | undefined): void {
    const isStable = this.#options.clock.now() - this.#since >= stableAfterMs;
    this.#flaps = isStable ? 0 : this.#flaps + 1;
    this.#failures = Math.max(0, this.#flaps - 1);
    this.#dispose(generation);
    this.#retry(this.#remember(error ?? new Error("The connection was closed by the other side.")));
  }

  #failed(error: Error): void {
    this.#attempt = undefined;
    this.#failures = Math.max(1, this.#failures);
    this.#retry(this.#remember(error));
  }

  /** Retains the error as `lastError`. Reading its stack releases the call frames that V8 retains until then. */
  #remember(error: Error): Error {
    void error.stack;
    this.#lastError = error;
    return error;
  }

  /** Connects again: at once after the first failure, else after a wait. Stops after `maxAttempts`. */
  #retry(error: Error): void {
    const { random, retryMs, maxRetryMs, clock, maxAttempts = Number.POSITIVE_INFINITY } = this.#options;
    const isOver = this.#attempts >= maxAttempts;
    if (isOver || this.#options.isLasting?.(error) === true) {
      this.#change(isOver ? "stopped" : "waiting", error);
      return;
    }
    const failures = this.#failures;
    this.#failures += 1;
    if (failures === 0) {
      this.#connect(error);
      return;
    }
    const backoffMs = backoffDelay(failures, { baseMs: retryMs, maxMs: maxRetryMs, random });
    const delayMs = Math.max(backoffMs, Math.min(retryAfterMs(error), maxRetryMs));
    this.#nextAttemptAt = clock.now() + delayMs;
    this.#timer = clock.setTimer(() => {
      this.#timer = undefined;
      this.#nextAttemptAt = undefined;
      this.#connect(undefined);
    }, delayMs);
    this.#change("waiting", error, delayMs);
  }

  /** Ends the wait, the attempt or the generation. */
  #drop(error: Error | undefined): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#nextAttemptAt = undefined;
    const attempt = this.#attempt;
    this.#attempt = undefined;
    attempt?.abort(error ?? new Error("The attempt was given up."));
    if (this.#generation !== undefined) this.#dispose(this.#generation);
  }

  #dispose(generation: G): void {
    this.#generation = undefined;
    const dispose = async () => generation[Symbol.asyncDispose]();
    this.#track(dispose());
  }

  #change(to: ConnectionState, error: Error | undefined, retryInMs?: number): void {
    const from = this.#state;
    this.#state = to;
    this.#since = this.#options.clock.now();
    this.#report({ from, to, generation: this.#generation, error, retryInMs: to === "connecting" ? 0 : retryInMs });
  }

  #report(change: SupervisorChange<G>): void {
    try {
      this.#options.onChange(change);
    } catch (thrown) {
      this.#options.onError(thrown);
    }
  }

  #track(ending: PromiseLike<unknown>): void {
    const tracked: Promise<void> = Promise.resolve(ending)
      .then(
        () => undefined,
        (thrown) => this.#options.onError(thrown),
      )
      .finally(() => this.#ending.delete(tracked));
    this.#ending.add(tracked);
  }
}
