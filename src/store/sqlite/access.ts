import { setTimeout as sleep, setImmediate as turn } from "node:timers/promises";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { abortable } from "../../lib/promise.ts";
import { type Database, isBusy } from "./database.ts";

/** So many writes share a transaction, and so long one may take, in milliseconds: SQLite is synchronous, and nothing else runs meanwhile. */
const batch = { writes: 100, ms: 8 } as const;

interface Write {
  readonly operation: string;
  readonly signal: AbortSignal | undefined;
  readonly run: (database: Database) => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** The options of a write. */
export interface WriteOptions<T> {
  readonly signal: AbortSignal | undefined;
  done(value: T): void;
}

/** The options of accessing a database. */
export interface AccessOptions {
  readonly file: string;
  /** The longest wait for the lock of another process, in milliseconds. */
  readonly busyTimeoutMs: number;
  open(): Promise<Database>;
}

/** Reads and writes of one database. Those who write at the same time share transactions, and so the cost of making them durable. */
export class Access {
  readonly #options: AccessOptions;
  readonly #queue: Write[] = [];
  #draining: Promise<void> | undefined;

  constructor(options: AccessOptions) {
    this.#options = options;
  }

  /** Runs something that reads. */
  read<T>(operation: string, run: (database: Database) => T, signal: AbortSignal | undefined): Promise<T> {
    return this.#untilFree(operation, run, signal);
  }

  /**
   * Runs something that writes in a transaction. Resolves once it is durable; what it throws undoes it, and nothing else.
   *
   * @param options - `done` is called once it is durable, also where its caller waits no more
   */
  write<T>(operation: string, run: (database: Database) => T, { signal, done }: WriteOptions<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const written = (value: unknown) => {
      done(value as T);
      resolve(value as T);
    };
    this.#queue.push({ operation, signal, run, resolve: written, reject });
    this.#draining ??= this.#drain().finally(() => {
      this.#draining = undefined;
    });
    return abortable(promise, signal);
  }

  /** Resolves when nothing is left to write. */
  async idle(): Promise<void> {
    await this.#draining;
  }

  async #drain(): Promise<void> {
    // Those who come in the same turn come along.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const taken: Write[] = [];
      try {
        await this.#write("write", this.#queue, taken);
      } catch (error) {
        if (taken.length > 0) await this.#alone(taken);
        else for (const { operation, reject } of this.#queue.splice(0)) reject(this.#failure(operation, error));
      }
      await turn();
    }
  }

  /** Runs them one by one after they failed together, so that each gets its own failure. New writes wait meanwhile. */
  async #alone(writes: readonly Write[]): Promise<void> {
    for (const write of writes) {
      const queue = [write];
      try {
        await this.#write(write.operation, queue, []);
      } catch (error) {
        write.reject(this.#failure(write.operation, error));
      }
    }
  }

  /** Writes what is waiting, as much as may be in one transaction, and takes it off the queue. */
  #write(operation: string, queue: Write[], taken: Write[]): Promise<void> {
    const { file } = this.#options;
    const write = (database: Database) => {
      const { readOnly } = database;
      if (readOnly !== undefined) throw storeFailed(file, operation, `it can only be read, since ${readOnly}`);
      const outcomes = transact(database, queue, taken);
      const lost = database.misplaced();
      if (lost === undefined) for (const settle of outcomes) settle();
      else for (const each of taken) each.reject(storeFailed(file, each.operation, misplacement(lost)));
    };
    return this.#untilFree(operation, write, undefined);
  }

  /** Repeats it for as long as another connection has the lock. */
  async #untilFree<T>(operation: string, run: (database: Database) => T, signal: AbortSignal | undefined): Promise<T> {
    const endAt = performance.now() + this.#options.busyTimeoutMs;
    for (;;) {
      try {
        return run(await this.#options.open());
      } catch (error) {
        if (ToolkitError.is(error)) throw error;
        if (!isBusy(error) || performance.now() >= endAt) throw this.#failure(operation, error);
      }
      await sleep(2 + Math.random() * 10, undefined, { signal }).catch((error) => {
        throw signal?.aborted ? signal.reason : error;
      });
    }
  }

  #failure(operation: string, cause: unknown): ToolkitError {
    if (ToolkitError.is(cause)) return cause;
    const why = isBusy(cause)
      ? `another process has had its lock for ${this.#options.busyTimeoutMs} ms`
      : messageOf(cause);
    return storeFailed(this.#options.file, operation, why, cause);
  }
}

function storeFailed(file: string, operation: string, why: string, cause?: unknown): ToolkitError {
  return new ToolkitError("STORE_FAILED", `The store ${file} failed (${operation}): ${why}.`, { operation }, { cause });
}

/** The reason why a store whose file is gone fails, and what to do. */
export function misplacement(path: string): string {
  return `${path} was deleted or replaced while it was open, so that nothing written is kept; put it back, or restart with the file there is`;
}

/** Runs the writes of one transaction, and gives what settles each once it is known to be kept. */
function transact(database: Database, queue: Write[], taken: Write[]): readonly (() => void)[] {
  database.exec("BEGIN IMMEDIATE");
  const outcomes: (() => void)[] = [];
  try {
    const endAt = performance.now() + batch.ms;
    do {
      const write = queue.shift();
      if (write === undefined) break;
      if (write.signal?.aborted) continue;
      taken.push(write);
      outcomes.push(outcomeOf(write, database));
    } while (taken.length < batch.writes && performance.now() < endAt);
    database.exec("COMMIT");
  } catch (error) {
    rollBack(database);
    // It is tried again, with all of them.
    if (isBusy(error)) queue.unshift(...taken.splice(0));
    throw error;
  }
  return outcomes;
}

/** Runs one write within a transaction: what it refuses is its own affair, what fails in SQLite is everybody's. */
function outcomeOf({ run, resolve, reject }: Write, database: Database): () => void {
  database.exec("SAVEPOINT one");
  try {
    const value = run(database);
    database.exec("RELEASE one");
    return () => resolve(value);
  } catch (error) {
    if (!ToolkitError.is(error)) throw error;
    database.exec("ROLLBACK TO one; RELEASE one");
    return () => reject(error);
  }
}

function rollBack(database: Database): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // SQLite has done it itself, as it does after some failures.
  }
}
