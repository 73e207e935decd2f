import { ToolkitError } from "../core/error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Job, JobType } from "./job.ts";

/** So old a list of the jobs may be: other processes make some too. */
const staleMs = 10_000;

/** The share of a principal: its open jobs, and the bytes of their input. */
interface Share {
  jobs: number;
  bytes: number;
}

/** The type of the jobs, as far as it matters here. */
type Counted<T extends Job> = Pick<JobType<T, never>, "many" | "bytesOf">;

/** The places for all principals together. */
interface Places {
  readonly limit: number;
  /** Undefined for no limit. */
  readonly maxBytes?: number | undefined;
}

/**
 * The open jobs of each principal, so that none takes all the places, or all the memory. It is exact for the jobs of this process, and at
 * most ten seconds behind for those of others.
 */
export class PrincipalShares<T extends Job> {
  readonly #type: Counted<T>;
  readonly #clock: Clock;
  /** Of each open job, by its id. */
  readonly #open = new Map<string, { readonly principal: string; readonly bytes: number }>();
  readonly #shares = new Map<string, Share>();
  #listedAt = Number.NEGATIVE_INFINITY;

  constructor(type: Counted<T>, clock: Clock) {
    this.#type = type;
    this.#clock = clock;
  }

  get isStale(): boolean {
    return this.#clock.now() - this.#listedAt > staleMs;
  }

  /**
   * Refuses a further job of a principal that holds half of all places, or would hold more than half of all bytes.
   *
   * @throws ToolkitError `LIMIT_EXCEEDED`
   */
  assertPlace(job: T, { limit, maxBytes }: Places): void {
    const { many } = this.#type;
    const { principal } = job.session;
    if (principal === undefined) return;
    const share = this.#shares.get(principal);
    const places = Math.max(1, Math.floor(limit / 2));
    if (share !== undefined && share.jobs >= places) {
      const message = `The principal has ${places} ${many} that wait already, half of all places, and no more are kept for one. Resolve some, or wait until they expire.`;
      throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: many, max: places });
    }
    if (maxBytes === undefined) return;
    const max = Math.floor(maxBytes / 2);
    const actual = this.#bytesOf(job) + (share?.bytes ?? 0);
    if (actual <= max) return;
    const message = `The ${many} of the principal that wait would have ${actual} bytes, and may have ${max}, half of \`maxBytes\`. Resolve some, wait until they expire, or make the input smaller.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxBytes", max, actual });
  }

  /** Counts a job while it is open. */
  note(job: T): void {
    const { id, session, settledAt } = job;
    const { principal } = session;
    if (settledAt !== undefined) {
      this.forget(id);
      return;
    }
    if (principal === undefined || this.#open.has(id)) return;
    this.#add(id, principal, this.#bytesOf(job));
  }

  /** It is not there any more. */
  forget(id: string): void {
    const open = this.#open.get(id);
    const share = open && this.#shares.get(open.principal);
    if (open === undefined || share === undefined) return;
    this.#open.delete(id);
    share.jobs -= 1;
    share.bytes -= open.bytes;
    if (share.jobs === 0) this.#shares.delete(open.principal);
  }

  /** These are all. */
  listed(jobs: readonly T[]): void {
    const known = new Map(this.#open);
    this.#open.clear();
    this.#shares.clear();
    for (const job of jobs) {
      const open = known.get(job.id);
      // The input of a job never changes.
      if (open !== undefined && job.settledAt === undefined) this.#add(job.id, open.principal, open.bytes);
      else this.note(job);
    }
    this.#listedAt = this.#clock.now();
  }

  #bytesOf(job: T): number {
    return this.#type.bytesOf?.(job) ?? 0;
  }

  #add(id: string, principal: string, bytes: number): void {
    const share = this.#shares.get(principal) ?? { jobs: 0, bytes: 0 };
    share.jobs += 1;
    share.bytes += bytes;
    this.#open.set(id, { principal, bytes });
    this.#shares.set(principal, share);
  }
}
