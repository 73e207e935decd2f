import { randomUUID } from "node:crypto";
import { messageOf, ToolkitError } from "../core/error.ts";
import { throwIfAborted } from "../core/signal.ts";
import type { StoreEvent } from "../core/store.ts";
import { abortable } from "../lib/promise.ts";
import { Claim } from "./claim.ts";
import type { Job, JobChange, JobType, Lease } from "./job.ts";
import { isUnreadable, type JobOptions, JobRecords } from "./job-records.ts";
import { DueTimes, ObservedLeases } from "./job-times.ts";
import { PrincipalShares } from "./principal-shares.ts";

/** The options of jobs. */
export interface JobsOptions<T extends Job> extends JobOptions<T> {
  /** For how long a holder may fail to extend its lease, in milliseconds, until others take it for dead. */
  readonly leaseMs: number;
  /** Called after each change that was made here. */
  changed?(job: T, before: T): void;
  /** Claims one that may be repeated and whose holder is gone. Resolves to whether that can be done here. */
  repeat?(job: T): Promise<boolean>;
}

/** The id that stands for all of them, where they are to be listed again. No job has it. */
const everything = "";
/** After so long a store that failed is asked again, in milliseconds. */
const retryMs = 60_000;

/**
 * Durable work of one type, in a store that processes may share. Each job has one holder at a time, and comes to an end whatever becomes
 * of its holders.
 */
export class Jobs<T extends Job, R, L = never> extends JobRecords<T, R> {
  readonly #options: JobsOptions<T>;
  readonly #leases: ObservedLeases;
  readonly #due: DueTimes;
  readonly #claims = new Map<string, Claim<T, R>>();
  readonly #local = new Map<string, L>();
  readonly #changes = new Map<string, PromiseWithResolvers<void>>();
  readonly #shares: PrincipalShares<T>;
  #waiting = 0;

  constructor(type: JobType<T, R>, options: JobsOptions<T>) {
    super(type, options);
    this.#options = options;
    this.#leases = new ObservedLeases(options.clock);
    this.#shares = new PrincipalShares(type, options.clock);
    this.#due = new DueTimes(options.clock, (id) => void this.#attend(id));
    const unwatch = options.store.watch((event) => this.#onStoreEvent(event));
    options.closing.addEventListener("abort", () => this.#close(unwatch), { once: true });
  }

  get now(): number {
    return Math.floor(this.#options.clock.now());
  }

  /**
   * @param job - its version is 0
   * @param local - what only this process knows of it, until it has ended
   * @throws ToolkitError `LIMIT_EXCEEDED` where there is no place, or the principal holds half of them, or of the bytes; `CONFLICT` for an id that is taken
   */
  async create(job: T, local: L): Promise<T> {
    const { id } = job;
    await this.#assertShare(job);
    // Before it is there: a listener may ask for it at once.
    this.#local.set(id, local);
    let created: T | undefined;
    try {
      created = await this.update(job, {});
    } finally {
      if (created === undefined) {
        this.#local.delete(id);
        this.#shares.forget(id);
      }
    }
    if (created !== undefined) return created;
    throw new ToolkitError("CONFLICT", `There is ${this.type.one} "${id}" already.`, { key: id, owners: [] });
  }

  /** As `create`, and takes it at once: no other process ever finds it without a holder. */
  async begin(job: T, local: L): Promise<Claim<T, R>> {
    const lease = this.#newLease();
    return this.#hold(await this.create({ ...job, lease }, local), lease);
  }

  /** As it is now, once what was due for it is done. @throws ToolkitError `STORE_FAILED` */
  async get(id: string): Promise<T | undefined> {
    const job = await this.read(id);
    if (job !== undefined) return this.#current(job);
    this.forget(id);
    return undefined;
  }

  /** All of them, as `get`. What cannot be read is logged. */
  async list(): Promise<readonly T[]> {
    const jobs = await this.readAll();
    const current = await Promise.all(jobs.map((job) => this.#current(job)));
    return current.filter((job) => job !== undefined);
  }

  /** State of a job that only the process that created it has, until the job has ended. */
  localOf(id: string): L | undefined {
    return this.#local.get(id);
  }

  /** The claim on it that is held here. */
  claimOf(id: string): Claim<T, R> | undefined {
    return this.#claims.get(id);
  }

  /** Takes one that has no holder. */
  async claim(job: T, change: JobChange<T>): Promise<Claim<T, R> | undefined> {
    if (job.settledAt !== undefined || this.#leases.endOf(job) > this.now) return undefined;
    const lease = this.#newLease();
    const claimed = await this.update(job, { ...change, lease } as Partial<T>);
    return claimed && this.#hold(claimed, lease);
  }

  #newLease(): Lease {
    const { leaseMs } = this.#options;
    return { holder: randomUUID(), until: Math.ceil(this.now + leaseMs), lastsMs: leaseMs };
  }

  #hold(job: T, lease: Lease): Claim<T, R> {
    const claim = new Claim<T, R>(job, lease, this, (over) => this.#over(over));
    this.#claims.set(job.id, claim);
    return claim;
  }

  /** Deletes one that is there and cannot be read. Resolves to whether that was so. */
  async deleteUnreadable(id: string): Promise<boolean> {
    try {
      await this.read(id);
      return false;
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return this.delete({ id });
    }
  }

  /** Looks through all of them: others may have left some whose time is over. Where the store fails it is tried again later. */
  expire(): Promise<void> {
    return this.#attend(everything);
  }

  /**
   * Waits until it is so, or not there; meanwhile the process stays alive.
   *
   * @throws ToolkitError `STORE_FAILED`; `CLOSED`; the reason of the signal
   */
  async until(id: string, isSo: (job: T) => boolean, signal: AbortSignal | undefined): Promise<T | undefined> {
    throwIfAborted(signal);
    this.#keepWaiting(1);
    try {
      for (;;) {
        // Before it is read, so that no change is missed.
        const change = this.#changes.get(id) ?? Promise.withResolvers<void>();
        this.#changes.set(id, change);
        const job = await this.get(id);
        if (job === undefined || isSo(job)) return job;
        if (this.#options.closing.aborted) throw closed();
        await abortable(change.promise, signal);
      }
    } finally {
      this.#keepWaiting(-1);
    }
  }

  async #current(job: T): Promise<T | undefined> {
    const dueAt = this.#dueAt(job);
    const isDue = dueAt <= this.now;
    if (isDue && (await this.#advance(job))) return this.get(job.id);
    // One that cannot be repeated here is looked at from time to time: another process may do it, or it expires.
    this.#setDue(job.id, isDue ? this.now + this.#options.leaseMs : dueAt);
    return job;
  }

  #dueAt(job: T): number {
    const { type } = this;
    const leaseEnd = this.#leases.endOf(job);
    if (job.settledAt !== undefined) return type.keptUntil(job);
    if (job.lease === undefined) return type.expiresAt(job);
    return this.#claims.has(job.id) ? this.now + this.#options.leaseMs : leaseEnd;
  }

  /** Does what it is time for, unless another is faster; false where nothing can be done here. */
  async #advance(job: T): Promise<boolean> {
    const { type } = this;
    if (job.lease !== undefined && type.isRepeatable(job) && type.expiresAt(job) > this.now)
      return (await this.#options.repeat?.(job)) ?? false;
    const change = job.lease === undefined ? type.expired(job) : type.lost(job);
    await (job.settledAt !== undefined || change === undefined ? this.delete(job) : this.cancel(job, change));
    return true;
  }

  /** Counts a job that is to be created, unless its principal holds half of the places already, or of the bytes with it. */
  async #assertShare(job: T): Promise<void> {
    if (job.session.principal === undefined) return;
    if (this.#shares.isStale) this.#shares.listed(await this.readAll());
    this.#shares.assertPlace(job, this.options);
    this.#shares.note(job);
  }

  protected override written(job: T, before: T): void {
    this.#shares.note(job);
    if (job.settledAt !== undefined) this.#local.delete(job.id);
    this.#setDue(job.id, this.#dueAt(job));
    this.#options.changed?.(job, before);
  }

  #onStoreEvent(event: StoreEvent): void {
    if (event.type === "gap") {
      this.#leases.missed();
      for (const id of [...this.#changes.keys()]) this.#wake(id);
      void this.expire();
    }
    // A record with an owner is a piece of a job.
    if (event.type !== "changed" || event.collection !== this.type.collection || event.owner !== "") return;
    const { key: id, version, deleted } = event;
    if (deleted) this.forget(id);
    else {
      this.#leases.changed(id, version);
      // It is read when it has not changed for so long: soon enough, and cheaper than to read each change.
      this.#setDue(id, this.now + this.#options.leaseMs);
    }
    this.#claims.get(id)?.changed(version);
    this.#wake(id);
  }

  /** Looks at one that is due, or at everything. */
  async #attend(id: string): Promise<void> {
    const { closing, logger } = this.#options;
    try {
      if (!closing.aborted) await (id === everything ? this.list() : this.get(id));
    } catch (error) {
      if (closing.aborted) return;
      logger.error(`The store of ${this.type.many} failed: ${messageOf(error)}`, { error });
      if (!isUnreadable(error)) this.#setDue(id, this.now + retryMs);
    }
  }

  #setDue(id: string, time: number): void {
    if (!this.#options.closing.aborted) this.#due.set(id, time);
  }

  #over(claim: Claim<T, R>): void {
    const { id } = claim.job;
    if (this.#claims.get(id) === claim) this.#claims.delete(id);
    if (claim.lost.aborted) this.#setDue(id, this.now + this.#options.leaseMs);
  }

  override forget(id: string): void {
    super.forget(id);
    this.#shares.forget(id);
    this.#local.delete(id);
    this.#leases.forget(id);
    this.#due.delete(id);
  }

  #wake(id: string): void {
    const change = this.#changes.get(id);
    this.#changes.delete(id);
    change?.resolve();
  }

  #keepWaiting(change: 1 | -1): void {
    this.#waiting += change;
    this.#due.keepAlive(this.#waiting > 0);
    if (this.#waiting === 0) this.#changes.clear();
  }

  #close(unwatch: () => void): void {
    unwatch();
    this.#due.clear();
    for (const { promise, reject } of this.#changes.values()) {
      promise.catch(() => undefined);
      reject(closed());
    }
  }
}

function closed(): ToolkitError<"CLOSED"> {
  return new ToolkitError("CLOSED", "The toolkit is closed.", { what: "toolkit" });
}
