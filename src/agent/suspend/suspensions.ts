import { ToolkitError } from "../../core/error.ts";
import type { CallContext } from "../../core/item.ts";
import type { Content } from "../../core/resource.ts";
import type { ServedToolkit } from "../../core/served-toolkit.ts";
import type { Session } from "../../core/session.ts";
import type { Store } from "../../core/store.ts";
import type { Claim } from "../../jobs/claim.ts";
import { Jobs } from "../../jobs/jobs.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ForgetOptions, WaitingRun } from "../agent.ts";
import type { KeptRuns } from "../agent-options.ts";
import { type LocalRun, type RunJobs, runType } from "./run-jobs.ts";
import { givenUp, lostRun, noRun, runConflict, type SuspendedRun, waitingRun } from "./suspended-run.ts";

/** A run, and the toolkit whose store has it. */
export interface FoundRun {
  readonly run: SuspendedRun;
  readonly jobs: RunJobs;
  readonly toolkit: ServedToolkit;
}

type Reason = Pick<ForgetOptions, "by" | "reason">;

/** The runs that wait, in the stores of the toolkits an agent serves. */
export class Suspensions {
  readonly #jobs = new Map<ServedToolkit, RunJobs>();
  /** Those whose store was searched for runs that were left until they expired. */
  readonly #lookedThrough = new WeakSet<RunJobs>();
  readonly #clock: Clock;
  readonly #kept: KeptRuns;

  constructor(clock: Clock, kept: KeptRuns) {
    this.#clock = clock;
    this.#kept = kept;
  }

  get now(): number {
    return Math.floor(this.#clock.now());
  }

  attach(toolkit: ServedToolkit): void {
    const { store, logger, closing } = toolkit;
    const { limit, leaseMs, keepMs } = this.#kept;
    const hold = toolkit.hold.bind(toolkit);
    const options = { clock: this.#clock, store, logger, closing, hold, limit, leaseMs };
    this.#jobs.set(toolkit, new Jobs(runType(keepMs), options));
  }

  /** The toolkit the agent serves, where it is one. */
  get only(): ServedToolkit | undefined {
    return this.servesSeveral ? undefined : [...this.#jobs.keys()][0];
  }

  /** The stores of the toolkits that the agent serves. */
  get stores(): readonly Store[] {
    return [...this.#jobs.keys()].map(({ store }) => store);
  }

  get servesSeveral(): boolean {
    return this.#jobs.size > 1;
  }

  /** The toolkit a call was made in, if the agent serves it. */
  toolkitOf(context: CallContext): ServedToolkit | undefined {
    return [...this.#jobs.keys()].find((toolkit) => toolkit.serves(context));
  }

  /**
   * Keeps a run that waits. Where that fails, its approvals are denied: their outcomes would have no reader.
   *
   * @throws ToolkitError `STORE_FAILED`; `LIMIT_EXCEEDED` where too many are kept
   */
  async suspend(run: SuspendedRun, local: LocalRun, toolkit: ServedToolkit): Promise<void> {
    const jobs = this.#jobs.get(toolkit);
    if (jobs === undefined) throw new TypeError("The agent does not serve this toolkit.");
    if (!this.#lookedThrough.has(jobs)) await jobs.expire();
    this.#lookedThrough.add(jobs);
    await this.keep({ run, jobs, toolkit }, () => jobs.create(run, local));
  }

  /** Writes down that a run waits, and that the runs it waits for are to keep their outcomes. */
  async keep({ run, jobs, toolkit }: FoundRun, write: () => Promise<SuspendedRun | undefined>): Promise<void> {
    try {
      for (const { id } of run.turn.waiting) {
        const child = await jobs.get(id);
        if (child !== undefined && !child.isAwaited) written(child, await jobs.update(child, { isAwaited: true }));
      }
      written(run, await write());
    } catch (error) {
      const reason = `the run "${run.id}" of ${run.task.ref}, which asked for it, could not be kept`;
      await this.#giveUp({ run, jobs, toolkit }, { reason }).catch(() => undefined);
      throw error;
    }
  }

  /** @throws ToolkitError `NOT_FOUND`, also for that of another principal; `STORE_FAILED` where it cannot be read */
  async find(id: string, session: Session | undefined): Promise<FoundRun> {
    const found = await this.kept(id);
    if (found !== undefined && isOf(found.run, session)) return found;
    throw noRun(id);
  }

  /** True for a run that can be resumed, or is. */
  async isWaiting(id: string): Promise<boolean> {
    return (await this.waiting(id)) !== undefined;
  }

  /** A run, whatever became of it. */
  async kept(id: string): Promise<FoundRun | undefined> {
    for (const [toolkit, jobs] of this.#jobs) {
      const run = await jobs.get(id);
      if (run !== undefined) return { run, jobs, toolkit };
    }
    return undefined;
  }

  /** A run that can be resumed, or is. */
  async waiting(id: string): Promise<FoundRun | undefined> {
    const found = await this.kept(id);
    return found?.run.status === "suspended" || found?.run.status === "running" ? found : undefined;
  }

  /** Those that wait to be resumed, the longest waiting first. What cannot be read is logged. */
  async list(session: Session | undefined): Promise<readonly WaitingRun[]> {
    const lists = await Promise.all([...this.#jobs.values()].map((jobs) => jobs.list()));
    const own = lists.flat().filter((run) => !run.isAwaited && isOf(run, session));
    return own.map(waitingRun).sort((one, other) => one.since - other.since || (one.id < other.id ? -1 : 1));
  }

  /** @throws ToolkitError as `assertClaimable` */
  async claim(found: FoundRun): Promise<Claim<SuspendedRun, Content>> {
    const { run, jobs } = found;
    this.assertClaimable(found);
    const claim = await jobs.claim(run, { status: "running" });
    if (claim === undefined) throw runConflict(run, "another holder was faster");
    return claim;
  }

  /** @throws ToolkitError `CONFLICT` where it is claimed, or can go on only where it began; `OUTCOME_UNKNOWN` where its holder is gone */
  assertClaimable({ run, jobs }: FoundRun): void {
    if (run.status === "finished") throw runConflict(run, "it has ended");
    if (run.status === "lost") throw lostRun(run);
    if (run.status === "running") throw runConflict(run, "another holder goes on with it now");
    if (!run.isLocal || jobs.localOf(run.id) !== undefined) return;
    const why = "because it has tools that were handed over, or is confined to a view";
    throw runConflict(run, `it can go on only in the process where it began, ${why}`);
  }

  /** Removes the runs that one waited for, and does not any more. */
  async removeSettled({ run, jobs }: FoundRun, turn?: SuspendedRun["turn"]): Promise<void> {
    for (const { id } of run.turn.waiting) {
      if (turn?.waiting.some((wait) => wait.id === id)) continue;
      const child = await jobs.get(id);
      if (child !== undefined && child.status !== "running") await jobs.delete(child);
    }
  }

  /** See `Agent.forget`. */
  async forget(id: string, { session, by, reason }: ForgetOptions): Promise<void> {
    if (session === undefined) for (const jobs of this.#jobs.values()) if (await jobs.deleteUnreadable(id)) return;
    const found = await this.find(id, session);
    const { run } = found;
    const why = { by, reason: reason ?? `the run "${id}" of ${run.task.ref}, which asked for it, was given up` };
    if (run.status === "running")
      throw runConflict(run, "another holder goes on with it now, so it cannot be forgotten either");
    // One that another run waits for says to that one that it was given up.
    const { jobs } = found;
    const isRemoved = run.isAwaited ? await jobs.cancel(run, givenUp(run, why)) : await jobs.delete(run);
    if (!isRemoved) throw runConflict(run, "another holder was faster");
    await this.#giveUp(found, why);
  }

  /** Deletes a run that nothing waits for any more, unless a holder goes on with it. What it waits for is denied. */
  async drop(found: FoundRun, reason: Reason): Promise<void> {
    const { run, jobs } = found;
    if (run.status !== "running" && (await jobs.delete(run))) await this.#giveUp(found, reason);
  }

  /** Denies what a run waits for, where that is not decided yet. */
  async #giveUp({ run, jobs, toolkit }: FoundRun, why: Reason): Promise<void> {
    for (const { id } of run.turn.waiting) {
      try {
        const child = await jobs.get(id);
        if (child === undefined) await toolkit.approvals.resolve(id, { approved: false, ...why });
        else await this.drop({ run: child, jobs, toolkit }, why);
      } catch (error) {
        if (!ToolkitError.is(error, "CONFLICT") && !ToolkitError.is(error, "NOT_FOUND")) throw error;
      }
    }
  }
}

/** @throws ToolkitError `CONFLICT` for a write that was not done */
function written(run: SuspendedRun, result: SuspendedRun | undefined): void {
  if (result === undefined) throw runConflict(run, "another holder has it by now");
}

/** One principal never learns of the runs of another. Without a session it is the service itself that asks. */
function isOf({ session: { principal } }: SuspendedRun, session: Session | undefined): boolean {
  return session === undefined || session.principal === principal;
}
