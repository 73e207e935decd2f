import type { Generation } from "../../src/connection/supervisor.ts";

/** One attempt to open a generation: the test says what becomes of it. */
export class ScriptedAttempt implements Generation {
  readonly id: number;
  readonly signal: AbortSignal;
  readonly opening = Promise.withResolvers<ScriptedAttempt>();
  readonly closing = Promise.withResolvers<Error | undefined>();
  readonly #disposing = Promise.withResolvers<void>();
  readonly #endsAtOnce: boolean;
  /** The number of times it was asked to end. */
  disposed = 0;
  /** It was opened, and has not ended yet. */
  alive = false;
  /** `open` has not settled yet. */
  pending = true;
  /** `closed` has settled. */
  over = false;

  constructor(id: number, signal: AbortSignal, endsAtOnce: boolean) {
    this.id = id;
    this.signal = signal;
    this.#endsAtOnce = endsAtOnce;
  }

  get closed(): Promise<Error | undefined> {
    return this.closing.promise;
  }

  succeed(): void {
    if (!this.pending) return;
    this.pending = false;
    this.alive = true;
    this.opening.resolve(this);
  }

  fail(error: unknown): void {
    this.pending = false;
    this.opening.reject(error);
  }

  lose(error?: Error): void {
    this.over = true;
    this.closing.resolve(error);
  }

  /** A session that was asked to end has ended. */
  end(): void {
    this.alive = false;
    this.lose();
    this.#disposing.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.disposed += 1;
    if (this.#endsAtOnce) this.end();
    return this.#disposing.promise;
  }
}

/** Opens generations as a test says. */
export class ScriptedOpener {
  readonly attempts: ScriptedAttempt[] = [];
  /** Whether a generation ends as soon as it is told to. */
  endsAtOnce = true;

  readonly open = (signal: AbortSignal): Promise<ScriptedAttempt> => {
    const attempt = new ScriptedAttempt(this.attempts.length, signal, this.endsAtOnce);
    this.attempts.push(attempt);
    return attempt.opening.promise;
  };

  /** The newest attempt. */
  get last(): ScriptedAttempt {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) throw new Error("Nothing was opened yet.");
    return attempt;
  }
}
