import { messageOf, ToolkitError } from "../core/error.ts";
import type { Logger } from "../core/session.ts";
import type { RecordKey, Store, StoredRecord } from "../core/store.ts";
import type { Clock } from "../lib/clock.ts";
import { assertFields } from "../lib/field-checks.ts";
import { type Job, type JobChange, type JobType, jobFields } from "./job.ts";

/** Jobs of which a part lies beside their record, in pieces that it names. */
export interface JobPieces<T extends Job> {
  /** The job with all of its parts; undefined where a piece that it names is not there. @throws TypeError for one that cannot be read */
  join(job: T): Promise<T | undefined>;
  /** Removes all pieces of it. */
  discard(job: Pick<T, "id">): Promise<void>;
}

/** The options of records of jobs. */
export interface JobOptions<T extends Job = never> {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** So many are kept. */
  readonly limit: number;
  /** So many bytes of records are kept when one is added. Undefined for no limit. */
  readonly maxBytes?: number | undefined;
  /** Aborts when the toolkit begins to close: waits end then, and no timer is left. What is claimed can still be ended. */
  readonly closing: AbortSignal;
  /** Has the store stay open until this has ended. */
  hold(work: Promise<unknown>): void;
  /** Undefined where each job is one record. */
  readonly pieces?: JobPieces<T> | undefined;
}

/** True for the error of a record that is there and cannot be read. */
export function isUnreadable(error: unknown): boolean {
  return ToolkitError.is(error, "STORE_FAILED") && error.cause instanceof TypeError;
}

/**
 * The records of one type of jobs. In the store none has an owner: they belong to the toolkit. A write that comes too late, as another has
 * changed the job, does nothing and gives undefined.
 */
export class JobRecords<T extends Job, R> {
  readonly type: JobType<T, R>;
  readonly options: JobOptions<T>;
  /** Those that ended in this process, as they were: their errors have causes, which JSON has not. */
  readonly #ended = new Map<string, T>();

  constructor(type: JobType<T, R>, options: JobOptions<T>) {
    this.type = type;
    this.options = options;
  }

  /** @throws ToolkitError `STORE_FAILED`, also for one that cannot be read */
  async read(id: string): Promise<T | undefined> {
    for (let missedIn = 0; ; ) {
      const record = await this.options.store.get(this.#key(id));
      if (record === undefined) return undefined;
      const job = await this.#joined(this.#parse(record));
      if (job !== undefined) return job;
      // Pieces are removed after a record that names them no more: it is read again, unless it is the same still.
      if (record.version === missedIn) throw this.#unreadable(id, "a piece of it is missing");
      missedIn = record.version;
    }
  }

  /** All that can be read. What cannot be is logged. */
  async readAll(): Promise<readonly T[]> {
    const { store, logger } = this.options;
    const { records, failures } = await store.list({ collection: this.type.collection, owner: "" });
    for (const { error } of failures) logger.error(error.message, { error });
    const jobs = records.map(async (record) => {
      try {
        return (await this.#joined(this.#parse(record))) ?? (await this.read(record.key));
      } catch (error) {
        logger.error(messageOf(error), { error });
        return undefined;
      }
    });
    return (await Promise.all(jobs)).filter((job) => job !== undefined);
  }

  /** Puts other values in the place of some. @throws ToolkitError `LIMIT_EXCEEDED` for a new one where there is no place */
  async update(before: T, change: Partial<T>): Promise<T | undefined> {
    const job: T = { ...before, ...change };
    const { id, version: expectedVersion, ...value } = { ...job, ...this.type.toJson?.(job) };
    const { limit, maxBytes } = this.options;
    const quota = expectedVersion === 0 ? { items: limit, bytes: maxBytes } : undefined;
    for (;;) {
      try {
        const { version } = await this.options.store.put({ ...this.#key(id), value }, { expectedVersion, quota });
        const written = Object.freeze({ ...job, version });
        if (written.settledAt !== undefined) this.#ended.set(id, written);
        this.written(written, before);
        return written;
      } catch (error) {
        if (ToolkitError.is(error, "CONFLICT")) return undefined;
        if (quota === undefined || !ToolkitError.is(error, "LIMIT_EXCEEDED")) throw error;
        await this.#makeRoom(error);
      }
    }
  }

  /** Called after each change that was made here. */
  protected written(_job: T, _before: T): void {}

  /** Ends it with its result. */
  complete(job: T, result: R): Promise<T | undefined> {
    return this.cancel(job, this.type.completed(job, result));
  }

  /** Ends it with an error. */
  fail(job: T, error: unknown): Promise<T | undefined> {
    return this.cancel(job, this.type.failed(job, error));
  }

  /** Ends it in another way. It is deleted at once where it need not be kept. */
  async cancel(job: T, change: JobChange<T>): Promise<T | undefined> {
    const now = this.options.clock.now();
    const end = { ...change, lease: undefined, settledAt: now } as Partial<T>;
    const ended: T = { ...job, ...end };
    if (this.type.keptUntil(ended) > now) return this.update(job, end);
    return (await this.delete(job)) ? ended : undefined;
  }

  /** Resolves to whether it was there, in its version where it has one. */
  async delete({ id, version, settledAt }: Pick<Job, "id"> & Partial<Job>): Promise<boolean> {
    try {
      // While the record is there, so that one that is left by a failure is tried again.
      if (settledAt !== undefined || version === undefined) await this.options.pieces?.discard({ id });
      return (await this.options.store.delete(this.#key(id), { expectedVersion: version })) !== undefined;
    } catch (error) {
      if (ToolkitError.is(error, "CONFLICT")) return false;
      throw error;
    }
  }

  /** It is not there any more. */
  forget(id: string): void {
    this.#ended.delete(id);
  }

  /** Deletes the oldest that may go, several at a time: to find them all are read. */
  async #makeRoom({ details: { limit: quota, max, actual } }: ToolkitError<"LIMIT_EXCEEDED">): Promise<void> {
    const { limit } = this.options;
    const { full, many, isSpare } = this.type;
    const spare = (await this.readAll()).filter((job) => job.settledAt !== undefined && isSpare(job));
    if (spare.length === 0 && quota === "bytes") {
      const message = `The ${many} would have ${actual} bytes, and may have ${max} together. Resolve some, wait until they expire, or make the input smaller.`;
      throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxBytes", max, actual });
    }
    if (spare.length === 0) throw new ToolkitError("LIMIT_EXCEEDED", full(limit), { limit: many, max: limit });
    spare.sort((one, other) => (one.settledAt ?? 0) - (other.settledAt ?? 0));
    await Promise.all(spare.slice(0, Math.ceil(limit / 100)).map((job) => this.delete(job)));
  }

  #parse({ key: id, version, value }: StoredRecord): T {
    const ended = this.#ended.get(id);
    if (ended?.version === version) return ended;
    const { fields, fromJson } = this.type;
    try {
      assertFields(value, { ...jobFields, ...fields });
      // The checks let nothing else through.
      const job = { ...value, id, version } as unknown as T;
      return Object.freeze(fromJson === undefined ? job : fromJson(job));
    } catch (error) {
      throw this.#unreadable(id, messageOf(error));
    }
  }

  async #joined(job: T): Promise<T | undefined> {
    const { pieces } = this.options;
    try {
      return pieces === undefined ? job : await pieces.join(job);
    } catch (error) {
      throw error instanceof TypeError ? this.#unreadable(job.id, error.message) : error;
    }
  }

  #unreadable(id: string, why: string): ToolkitError<"STORE_FAILED"> {
    const { one, remedy } = this.type;
    const message = `The store has ${one} "${id}" that cannot be read: ${why}. ${remedy(id)}`;
    return new ToolkitError("STORE_FAILED", message, { operation: "get" }, { cause: new TypeError(why) });
  }

  #key(key: string): RecordKey {
    return { collection: this.type.collection, owner: "", key };
  }
}
