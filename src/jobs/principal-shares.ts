import { ToolkitError } from "../core/error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Job } from "./job.ts";

/** So old a list of the jobs may be: other processes make some too. */
const staleMs = 10_000;

/**
 * The open jobs of each principal, so that none takes all the places. It is exact for the jobs of this process, and at most ten seconds behind
 * for those of others.
 */
export class PrincipalShares {
  readonly #clock: Clock;
  /** The principal of each open job, by its id. */
  readonly #principals = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  #listedAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isStale(): boolean {
    return this.#clock.now() - this.#listedAt > staleMs;
  }

  /**
   * Refuses a principal that holds half of all places.
   *
   * @param many - what the jobs are called
   * @throws ToolkitError `LIMIT_EXCEEDED`
   */
  assertPlace(principal: string, places: number, many: string): void {
    const max = Math.max(1, Math.floor(places / 2));
    if (this.#of(principal) < max) return;
    const message = `The principal has ${max} ${many} that wait already, half of all places, and no more are kept for one. Resolve some, or wait until they expire.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: many, max });
  }

  /** Counts a job while it is open. */
  note({ id, session: { principal }, settledAt }: Job): void {
    if (settledAt !== undefined) {
      this.forget(id);
      return;
    }
    if (principal === undefined || this.#principals.has(id)) return;
    this.#principals.set(id, principal);
    this.#counts.set(principal, this.#of(principal) + 1);
  }

  /** It is not there any more. */
  forget(id: string): void {
    const principal = this.#principals.get(id);
    if (principal === undefined) return;
    this.#principals.delete(id);
    const left = this.#of(principal) - 1;
    if (left === 0) this.#counts.delete(principal);
    else this.#counts.set(principal, left);
  }

  /** These are all. */
  listed(jobs: readonly Job[]): void {
    this.#principals.clear();
    this.#counts.clear();
    for (const job of jobs) this.note(job);
    this.#listedAt = this.#clock.now();
  }

  #of(principal: string): number {
    return this.#counts.get(principal) ?? 0;
  }
}
