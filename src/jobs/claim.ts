import { ToolkitError } from "../core/error.ts";
import { pause } from "../lib/backoff.ts";
import type { Timer } from "../lib/clock.ts";
import type { Job, JobChange, Lease } from "./job.ts";
import type { JobRecords } from "./job-records.ts";

/** So often an end that could not be written is tried again, within the length of a lease. */
const endAttempts = 30;

type Write<T> = (job: T) => Promise<T | undefined>;

/**
 * A job that is worked on here and nowhere else, for as long as its lease is extended: that is done by itself, well before it is over.
 * The methods that end the claim resolve to the job as it is then, or to undefined where the claim was lost: nothing was written then.
 */
export class Claim<T extends Job, R> {
  readonly #records: JobRecords<T, R>;
  readonly #lease: Lease;
  readonly #onOver: (claim: Claim<T, R>) => void;
  readonly #lost = new AbortController();
  #job: T;
  /** When the lease is over, by the clock of this process. */
  #until: number;
  #timer: Timer | undefined;
  #extending: Promise<void> | undefined;
  #isWriting = false;
  /** Its last write: two at once would each take the other for that of another holder. */
  #written: Promise<unknown> = Promise.resolve();
  #isOver = false;

  /**
   * @param job - as it was written, with this lease
   * @param onOver - called when its holder has finished with it, or has lost it
   */
  constructor(job: T, lease: Lease, records: JobRecords<T, R>, onOver: (claim: Claim<T, R>) => void) {
    this.#job = job;
    this.#lease = lease;
    this.#until = lease.until;
    this.#records = records;
    this.#onOver = onOver;
    this.#schedule();
  }

  /** As it was written last. */
  get job(): T {
    return this.#job;
  }

  /** Aborts when another may have it: from then on nothing that is done for it counts. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** Has the lease last from now. */
  async extend(): Promise<void> {
    if (!this.#isOver) this.#extending ??= this.#extend().finally(() => (this.#extending = undefined));
    return this.#extending;
  }

  /** The store has another version of it: that of this claim, unless it was lost. */
  changed(version: number): void {
    if (!this.#isWriting && version > this.#job.version) void this.extend();
  }

  /**
   * Writes down how far the work has come. Resolves to whether the claim is held still.
   *
   * @throws ToolkitError `STORE_FAILED`; the claim is held then
   */
  async update(change: JobChange<T>): Promise<boolean> {
    if (this.#isOver) return false;
    const isHeld = await this.#overLatest((job) => this.#records.update(job, change as Partial<T>));
    if (!isHeld) this.#lose();
    return isHeld && !this.#isOver;
  }

  /** The work came to a result. Where the store fails this rejects, and is tried again in the background for the length of a lease. */
  complete(result: R): Promise<T | undefined> {
    return this.#finish((job) => this.#records.complete(job, result));
  }

  /** The work came to an error; else as `complete`. */
  fail(error: unknown): Promise<T | undefined> {
    return this.#finish((job) => this.#records.fail(job, error));
  }

  /** With a change it waits again; where the store fails it is claimed still. Without one any process may claim it at once, as it is. */
  release(change?: JobChange<T>): Promise<T | undefined> {
    const lease = change === undefined ? { ...this.#lease, until: 0 } : undefined;
    return this.#finish((job) => this.#records.update(job, { ...change, lease } as Partial<T>), change === undefined);
  }

  #schedule(): void {
    this.#timer = this.#records.options.clock.setTimer(() => void this.extend(), this.#lease.lastsMs / 3);
  }

  async #extend(): Promise<void> {
    this.#timer?.cancel();
    const { clock } = this.#records.options;
    const { lastsMs } = this.#lease;
    const lease = { ...this.#lease, until: Math.ceil(clock.now() + lastsMs) };
    // A store that does not answer keeps no holder at work whose lease is over. One that comes late, as after a sleep, may be in time still.
    this.#timer = clock.setTimer(() => this.#lose(), Math.max(this.#until - clock.now(), lastsMs / 3));
    let isHeld: boolean;
    try {
      isHeld = await this.#overLatest((job) => this.#records.update(job, { lease } as Partial<T>));
      if (isHeld) this.#until = lease.until;
    } catch {
      // A store that fails is asked again for as long as no other process may think that the lease is over.
      isHeld = clock.now() < this.#until;
    }
    this.#timer.cancel();
    if (!isHeld) this.#lose();
    else if (!this.#isOver) this.#schedule();
  }

  #lose(): void {
    if (this.lost.aborted) return;
    const { id } = this.#job;
    this.#isOver = true;
    const message = `The work on ${this.#records.type.one} "${id}" was ended: its lease is over, or another holder has it by now.`;
    this.#lost.abort(new ToolkitError("CONFLICT", message, { key: id, owners: [] }));
    this.#onOver(this);
  }

  /** Writes, over what was changed meanwhile under the same lease. Resolves to whether that is held still. */
  #overLatest(write: Write<T>): Promise<boolean> {
    const written = this.#written.then(() => this.#writeOverLatest(write));
    this.#written = written.catch(() => undefined);
    return written;
  }

  async #writeOverLatest(write: Write<T>): Promise<boolean> {
    for (;;) {
      this.#isWriting = true;
      const written = await write(this.#job).finally(() => {
        this.#isWriting = false;
      });
      if (written !== undefined) {
        this.#job = written;
        return true;
      }
      const current = await this.#records.read(this.#job.id);
      if (current?.lease?.holder !== this.#lease.holder || current.version === this.#job.version) return false;
      this.#job = current;
    }
  }

  async #finish(write: Write<T>, isRetried = true): Promise<T | undefined> {
    if (this.#isOver) return undefined;
    this.#isOver = true;
    if (this.#extending === undefined) this.#timer?.cancel();
    await this.#extending;
    if (this.lost.aborted) return undefined;
    try {
      const isHeld = await this.#overLatest(write);
      this.#onOver(this);
      return isHeld ? this.#job : undefined;
    } catch (error) {
      if (isRetried) this.#records.options.hold(this.#finishLater(write));
      else this.#isOver = false;
      throw error;
    }
  }

  /** A job that no other process has taken meanwhile has its version still, so this cannot overwrite anything. */
  async #finishLater(write: Write<T>): Promise<void> {
    const { clock, closing: signal, logger } = this.#records.options;
    for (let attempt = 0; attempt < endAttempts && !signal.aborted; attempt++) {
      await pause(this.#lease.lastsMs / endAttempts, { clock, signal }).catch(() => undefined);
      const isHeld = await this.#overLatest(write).catch(() => undefined);
      if (isHeld === true)
        logger.info(`The outcome of ${this.#records.type.one} "${this.#job.id}" is in the store now.`);
      if (isHeld !== undefined) break;
    }
    this.#onOver(this);
  }
}
