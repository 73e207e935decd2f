import type { Connector } from "../core/connector.ts";
import type { Clock, Timer } from "../lib/clock.ts";

/** Time without a sign of life after which another attempt is made, in milliseconds. */
const silentMs = 4_000;
/** The most attempts in the place of one: a server that is slow is not asked without end. */
const maxBeside = 8;
/** The part of the time limit in which attempts are ended for others: the last one has the rest. */
const insteadPart = 1 / 3;
/** A server that takes so many times as long as it did is silent, and not slow. */
const slowFactor = 5;
/** Time that the other attempt has when the first one has failed, in milliseconds. */
const graceMs = 2_000;

/** One of the attempts, as the one that makes it shows it. */
export interface AttemptSigns {
  /** Gives a number that changes with each message of the far side. */
  received: () => number;
  /** A person has to act before it goes on, or has done so: no other attempt is made meanwhile. */
  readonly pause: (isPaused: boolean) => void;
}

/** Opens a session. Ends all it started before it rejects, also when the signal aborts. */
export type OpenAttempt<T> = (signal: AbortSignal, signs: AttemptSigns) => Promise<T>;

/** A session that was opened, and the end of the attempts it was faster than. */
export interface Opened<T> {
  readonly opened: T;
  /** Never rejects. */
  readonly others: Promise<unknown> | undefined;
}

/** The connector whose sessions are opened, and the bounds of that. */
export interface HedgedOpenerOptions {
  readonly clock: Clock;
  readonly whenSilent: Connector["whenSilent"];
  /** The time limit of all attempts that are made for one, which the owner enforces. */
  readonly limitMs: number;
  /** Called with an error of the end of a session that is not used. */
  onError(error: unknown): void;
}

/**
 * Opens sessions of one connector, without waiting for an answer that was lost on the way: a network that drops everything for some
 * seconds leaves an attempt silent for good. A server that is slow keeps the whole time it has: its first attempt goes on.
 */
export class HedgedOpener<T extends AsyncDisposable> {
  readonly #options: HedgedOpenerOptions;
  /** The duration of the fastest attempt that succeeded: a machine that was busy does not make a server slow. */
  #fastestMs: number | undefined;
  /** An attempt that failed may have been given too little time: the next one has all of it. */
  #hasFailed = false;

  constructor(options: HedgedOpenerOptions) {
    this.#options = options;
  }

  /** @throws the error of the first attempt that was not given up; the signal's reason */
  async open(signal: AbortSignal, open: OpenAttempt<T>): Promise<Opened<T>> {
    const { clock, whenSilent, limitMs, onError } = this.#options;
    const isBeside = whenSilent === "beside";
    const patienceMs = isBeside ? silentMs : Math.max(silentMs, slowFactor * (this.#fastestMs ?? 0));
    // A child process that was never up may have to be installed.
    const hedges = isBeside || (whenSilent === "instead" && this.#fastestMs !== undefined && !this.#hasFailed);
    const maxBegun = isBeside ? maxBeside : 1 + Math.floor((limitMs * insteadPart) / patienceMs);
    this.#hasFailed = true;
    const timed = this.#timed(open, patienceMs);
    const opened = hedges
      ? await new Hedge(timed, { clock, signal, patienceMs, maxBegun, isBeside, onError }).result()
      : { opened: await timed(signal, { received: () => 0, pause: () => undefined }), others: undefined };
    this.#hasFailed = false;
    return opened;
  }

  #timed(open: OpenAttempt<T>, patienceMs: number): OpenAttempt<T> {
    return async (signal, signs) => {
      const { clock } = this.#options;
      const startedAt = clock.now();
      const opened = await open(signal, signs);
      const tookMs = clock.now() - startedAt;
      // One that needs more time than it would have is slow now, and is not ended too early again.
      const isSlow = tookMs > patienceMs || this.#fastestMs === undefined;
      this.#fastestMs = isSlow ? tookMs : Math.min(tookMs, this.#fastestMs ?? tookMs);
      return opened;
    };
  }
}

interface HedgeOptions extends Pick<HedgedOpenerOptions, "clock" | "onError"> {
  readonly signal: AbortSignal;
  readonly patienceMs: number;
  readonly maxBegun: number;
  /** Attempts run beside each other, at most two: the first one and the latest. Otherwise one is ended before the next begins. */
  readonly isBeside: boolean;
}

interface Running {
  readonly controller: AbortController;
  readonly signs: AttemptSigns;
  ended: Promise<void>;
  received: number;
  isPaused: boolean;
}

/** The attempts in the place of one: the first answer counts. */
class Hedge<T extends AsyncDisposable> {
  readonly #open: OpenAttempt<T>;
  readonly #options: HedgeOptions;
  readonly #result = Promise.withResolvers<Opened<T>>();
  /** The first one, and the latest. */
  readonly #running: Running[] = [];
  /** All that have not ended, those that were given up included. */
  readonly #ending = new Set<Promise<void>>();
  #begun = 0;
  #error: unknown;
  #isOver = false;
  #timer: Timer | undefined;

  constructor(open: OpenAttempt<T>, options: HedgeOptions) {
    this.#open = open;
    this.#options = options;
  }

  async result(): Promise<Opened<T>> {
    const { signal } = this.#options;
    const onAbort = () => this.#fail(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener("abort", onAbort);
    try {
      this.#begin();
      return await this.#result.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #begin(): void {
    const controller = new AbortController();
    const signs: AttemptSigns = { received: () => 0, pause: (isPaused) => this.#pause(running, isPaused) };
    const running: Running = { controller, signs, ended: Promise.resolve(), received: 0, isPaused: false };
    this.#begun += 1;
    this.#running.push(running);
    const ended = this.#open(controller.signal, signs)
      .then(
        (opened) => this.#won(running, opened),
        (error) => this.#lost(running, error),
      )
      .catch((error) => this.#options.onError(error))
      .finally(() => this.#ending.delete(ended));
    running.ended = ended;
    this.#ending.add(ended);
    this.#schedule(this.#options.patienceMs);
  }

  async #won(running: Running, opened: T): Promise<void> {
    if (this.#isOver || !this.#running.includes(running)) return opened[Symbol.asyncDispose]();
    this.#end(() => new Error("Another attempt was answered first."), running);
    const others = [...this.#ending].filter((ended) => ended !== running.ended);
    this.#result.resolve({ opened, others: others.length === 0 ? undefined : Promise.all(others) });
  }

  #lost(running: Running, error: unknown): void {
    const at = this.#running.indexOf(running);
    if (this.#isOver || at === -1) return;
    this.#running.splice(at, 1);
    // Another one may be refused by a server that works on the first.
    if (at === 0) this.#error ??= error;
    if (this.#running.length === 0) this.#fail(this.#error);
    else if (this.#error !== undefined) this.#schedule(graceMs);
  }

  #pause(running: Running, isPaused: boolean): void {
    running.isPaused = isPaused;
    if (!this.#isOver && this.#running.includes(running)) this.#schedule(this.#options.patienceMs);
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#running.some(({ isPaused }) => isPaused)) return;
    this.#timer = this.#options.clock.setTimer(() => void this.#silent(), delayMs);
  }

  /** The time is over: where nothing has come, another attempt is made. */
  async #silent(): Promise<void> {
    const { patienceMs, maxBegun, isBeside } = this.#options;
    if (this.#running.map(showsLife).includes(true)) return this.#schedule(patienceMs);
    if (this.#error !== undefined) return this.#fail(this.#error);
    if (this.#begun >= maxBegun) return;
    const given = this.#running.splice(isBeside ? 1 : 0);
    for (const { controller } of given) controller.abort(new Error("The attempt was silent, and another is made."));
    await Promise.all(given.map(({ ended }) => ended));
    if (!this.#isOver) this.#begin();
  }

  /** Rejects once all is ended. */
  #fail(error: unknown): void {
    if (this.#isOver) return;
    this.#end(() => error);
    const ended = Promise.all(this.#ending);
    void ended.then(() => this.#result.reject(error));
  }

  /** Gives up all but one, which is mostly the only one. */
  #end(reasonOf: () => unknown, winner?: Running): void {
    this.#isOver = true;
    this.#timer?.cancel();
    for (const running of this.#running) if (running !== winner) running.controller.abort(reasonOf());
  }
}

/** True where a message has come since the last time it was asked. */
function showsLife(running: Running): boolean {
  const before = running.received;
  running.received = running.signs.received();
  return running.received !== before;
}
