import type { ConnectionState } from "../core/connection.ts";
import { toError } from "../core/error.ts";
import { retryAfterMs } from "../core/retry-after.ts";
import { backoffDelay } from "../lib/backoff.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { abortable } from "../lib/promise.ts";

/** What a supervisor keeps alive: one generation of a connection. */
export interface Generation extends AsyncDisposable {
  /** Resolves, with why if it was not asked for, when it has ended. Never rejects. */
  readonly closed: Promise<Error | undefined>;
}

/** What a supervisor is made with. */
export interface SupervisorOptions<G extends Generation> {
  /**
   * Makes a generation, ready for use. Ends all it started before it rejects.
   *
   * @param waits - stops the clock of the attempt while a person has to do something, which it shows as its last error
   */
  open(signal: AbortSignal, waits: (reason: Error | undefined) => void): Promise<G>;
  readonly clock: Clock;
  /** Gives a number from 0 up to 1. */
  readonly random: () => number;
  /** The bound of the first wait after a failed attempt. */
  readonly retryMs: number;
  /** The bound no wait goes beyond. */
  readonly maxRetryMs: number;
  /** How long one attempt may take. */
  readonly connectTimeoutMs: number;
  /** Makes the error for an attempt that took too long. */
  timedOut(): Error;
  /** Failed attempts in a row after which it gives up. Default: never. */
  readonly maxAttempts?: number | undefined;
  /** Told after each change of state. */
  onChange(change: SupervisorChange<G>): void;
  /** Told of what failed where nobody waits for it: the end of a generation, or `onChange` itself. */
  onError(error: unknown): void;
}

/** A change of state, told when it is true. */
export interface SupervisorChange<G> {
  readonly from: ConnectionState;
  readonly to: ConnectionState;
  readonly generation: G | undefined;
  /** Why an attempt or generation ended. */
  readonly error: Error | undefined;
  /** When the next attempt begins, from now. */
  readonly retryInMs: number | undefined;
}

/**
 * How long a generation must live to be trusted, in milliseconds. The first that ends sooner is followed at once; from the second in a
 * row on, the wait grows, so that a server that dies after each handshake is not met with a storm of them.
 */
export const trustedAfterMs = 5_000;

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
 *   stopped: from every state, by stop() or after maxAttempts, for good
 * ```
 *
 * Each attempt is a new generation. An old one can change nothing: what it says after its end is not heard.
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
  /** Failures in a row: they choose the next wait. */
  #failures = 0;
  /** Generations in a row that ended before they were trusted. */
  #flaps = 0;
  #lastError: Error | undefined;
  /** Whatever is still ending. */
  readonly #ending = new Set<Promise<void>>();

  constructor(options: SupervisorOptions<G>) {
    this.#options = options;
    this.#since = options.clock.now();
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** When it came into its state. */
  get since(): number {
    return this.#since;
  }

  /** The generation that is connected. */
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

  /** Begins, if it has not. */
  start(): void {
    if (this.#state === "idle") this.#connect(undefined);
  }

  /** Gives up what there is and tries at once, with a fresh count. Not after `stop`. */
  reconnect(): void {
    if (this.#state === "stopped") return;
    this.#attempts = 0;
    this.#failures = 0;
    this.#flaps = 0;
    this.#abandon(undefined);
    this.#connect(undefined);
  }

  /** Ends it for good, with all it started; resolves when that has ended. */
  async stop(error?: Error): Promise<void> {
    if (this.#state !== "stopped") {
      this.#abandon(error);
      this.#change("stopped", error);
    }
    // What ends may leave something behind that must end as well, such as an attempt that succeeds too late.
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
    const waits = (reason: Error | undefined) => {
      if (this.#attempt !== attempt) return;
      limit.cancel();
      if (reason !== undefined) return this.#waitsFor(reason);
      limit = setLimit();
      this.#lastError = before;
    };
    const opening = Promise.resolve().then(() => open(signal, waits));
    try {
      const generation = await abortable(opening, signal);
      signal.throwIfAborted();
      this.#opened(generation);
    } catch (thrown) {
      // Whatever it still comes to is nobody's. It is over only when that has ended too.
      this.#track(
        opening.then(
          (late) => late[Symbol.asyncDispose](),
          () => undefined,
        ),
      );
      if (this.#attempt === attempt) this.#failed(toError(thrown));
    } finally {
      limit.cancel();
      // The generation keeps what it was opened with: with this it would keep the one before it, and that the one before.
      before = undefined;
    }
  }

  /** It is still the same attempt, which no longer is a matter of time. */
  #waitsFor(reason: Error): void {
    if (reason.message === this.#lastError?.message) return;
    this.#lastError = reason;
    this.#tell({ from: "connecting", to: "connecting", generation: undefined, error: reason, retryInMs: undefined });
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
    const trusted = this.#options.clock.now() - this.#since >= trustedAfterMs;
    this.#flaps = trusted ? 0 : this.#flaps + 1;
    this.#failures = Math.max(0, this.#flaps - 1);
    this.#dispose(generation);
    this.#next(this.#remember(error ?? new Error("The connection was closed by the other side.")));
  }

  #failed(error: Error): void {
    this.#attempt = undefined;
    this.#failures = Math.max(1, this.#failures);
    this.#next(this.#remember(error));
  }

  /** Keeps it to be shown. Unread, a stack keeps alive whatever was on it: reading it lets go of that. */
  #remember(error: Error): Error {
    void error.stack;
    this.#lastError = error;
    return error;
  }

  /** Tries again after the wait that is due. */
  #next(error: Error): void {
    const { random, retryMs, maxRetryMs, clock, maxAttempts = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#attempts >= maxAttempts) {
      this.#change("stopped", error);
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

  /** Lets go of whatever there is: the timer, the attempt, the generation. */
  #abandon(error: Error | undefined): void {
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
    this.#tell({ from, to, generation: this.#generation, error, retryInMs: to === "connecting" ? 0 : retryInMs });
  }

  #tell(change: SupervisorChange<G>): void {
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
