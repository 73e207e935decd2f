import { randomUUID } from "node:crypto";
import { messageOf, ToolkitError } from "../../core/error.ts";
import type { CallContext, Tool, Toolbox } from "../../core/item.ts";
import type { SchemaLike } from "../../core/schema/types.ts";
import type { ServedToolkit } from "../../core/served-toolkit.ts";
import type { Session } from "../../core/session.ts";
import type { Store } from "../../core/store.ts";
import { newLease } from "../../jobs/lease.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ForgetOptions, WaitingRun } from "../agent.ts";
import type { KeptRuns } from "../agent-options.ts";
import { ClaimedRun } from "./claimed-run.ts";
import { lostRun, noRun, runConflict } from "./run-errors.ts";
import { getRun, isReadable, readRun, runKey, type StoredRun } from "./stored-run.ts";
import { givenUp, keptUntil, type SuspendedRun, waitingRun } from "./suspended-run.ts";

/** What is known of a suspended run in the process where it began, beside what is stored. */
export interface LocalRun {
  /** Of the call that it was: what goes on through it has the same session, depth and view. */
  readonly toolbox: Toolbox;
  readonly ownTools: readonly Tool[] | undefined;
  /** As it was given: what is stored of it neither refines nor transforms. */
  readonly output: SchemaLike | undefined;
}

/** A run, and the toolkit whose store has it. */
export interface FoundRun extends StoredRun {
  readonly toolkit: ServedToolkit;
}

/** It is looked for runs that nobody came for so often, at most. */
const sweepMs = 3_600_000;

/** The runs that wait, in the stores of the toolkits an agent serves. */
export class Suspensions {
  readonly #toolkits: ServedToolkit[] = [];
  readonly #local = new Map<string, LocalRun>();
  readonly #clock: Clock;
  readonly #kept: KeptRuns;
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, kept: KeptRuns) {
    this.#clock = clock;
    this.#kept = kept;
  }

  get now(): number {
    return this.#clock.now();
  }

  attach(toolkit: ServedToolkit): void {
    this.#toolkits.push(toolkit);
  }

  /** The toolkit the agent serves, where it is one. */
  get only(): ServedToolkit | undefined {
    return this.#toolkits.length === 1 ? this.#toolkits[0] : undefined;
  }

  get servesSeveral(): boolean {
    return this.#toolkits.length > 1;
  }

  /** The toolkit a call was made in, if the agent serves it. */
  toolkitOf(context: CallContext): ServedToolkit | undefined {
    return this.#toolkits.find((toolkit) => toolkit.serves(context));
  }

  /** What only this process knows of a run. */
  localOf(id: string): LocalRun | undefined {
    return this.#local.get(id);
  }

  /**
   * Keeps a run that waits. Where that fails, what it waits for is given up: nobody would hear what it comes to.
   *
   * @throws ToolkitError `STORE_FAILED`; `LIMIT_EXCEEDED` where too many are kept
   */
  async suspend(run: SuspendedRun, local: LocalRun, toolkit: ServedToolkit): Promise<void> {
    await this.#sweep(toolkit);
    await this.keeping(run, toolkit, async () => {
      const quota = { items: this.#kept.limit };
      await toolkit.store.put({ ...runKey(run.id), value: run }, { expectedVersion: 0, quota });
    });
    this.#local.set(run.id, local);
  }

  /** Writes down that a run waits, and that those it waits for are to keep what they come to. */
  async keeping(run: SuspendedRun, toolkit: ServedToolkit, write: () => Promise<void>): Promise<void> {
    try {
      await this.#await(run, toolkit.store);
      await write();
    } catch (error) {
      const reason = `the run "${run.id}" of ${run.task.ref}, which asked for it, could not be kept`;
      await this.#giveUp(run, toolkit, { reason }).catch(() => undefined);
      throw error;
    }
  }

  /** @throws ToolkitError `NOT_FOUND`, also for that of another principal; `STORE_FAILED` where it cannot be read */
  async find(id: string, session: Session | undefined): Promise<FoundRun> {
    for (const toolkit of this.#toolkits) {
      const stored = await getRun(toolkit.store, id);
      if (stored !== undefined && isOf(stored.run, session)) return { ...stored, toolkit };
    }
    throw noRun(id);
  }

  /** Those that wait to be resumed, the oldest first. What cannot be read is logged. */
  async list(session: Session | undefined): Promise<readonly WaitingRun[]> {
    const lists = await Promise.all(this.#toolkits.map((toolkit) => this.#all(toolkit)));
    const own = lists.flat().filter(({ run }) => !run.isAwaited && isOf(run, session));
    const waiting = own.map(({ run }) => waitingRun(run, this.now));
    return waiting.sort((one, other) => one.since - other.since || (one.id < other.id ? -1 : 1));
  }

  /**
   * Takes the one leave to go on with a run.
   *
   * @throws ToolkitError `NOT_FOUND`; `CONFLICT` where somebody goes on with it, or it can go on only where it began; `OUTCOME_UNKNOWN`
   *   where whoever went on with it is gone
   */
  async claim(id: string): Promise<ClaimedRun> {
    const { run, version, toolkit } = await this.find(id, undefined);
    await this.assertClaimable({ run, version, toolkit });
    const { leaseMs } = this.#kept;
    const lease = newLease(randomUUID(), { clock: this.#clock, leaseMs });
    const running: SuspendedRun = { ...run, status: "running", lease };
    const claimed = await toolkit.store
      .put({ ...runKey(id), value: running }, { expectedVersion: version })
      .catch((error) => {
        throw ToolkitError.is(error, "CONFLICT") ? runConflict(run, "somebody was faster") : error;
      });
    return new ClaimedRun({ run, version: claimed.version, toolkit, clock: this.#clock, lease, leaseMs });
  }

  /** @throws ToolkitError as `claim` */
  async assertClaimable({ run, version, toolkit }: FoundRun): Promise<void> {
    if (run.status === "finished") throw runConflict(run, "it has ended");
    if (run.status === "lost") throw lostRun(run);
    if (run.status === "running") {
      if ((run.lease?.until ?? 0) > this.now) throw runConflict(run, "somebody goes on with it now");
      const { lease: _lease, ...rest } = run;
      const value: SuspendedRun = { ...rest, status: "lost" };
      await toolkit.store.put({ ...runKey(run.id), value }, { expectedVersion: version });
      throw lostRun(run);
    }
    if (run.isLocal && !this.#local.has(run.id))
      throw runConflict(
        run,
        "it can go on only in the process where it began, because it has tools that were handed over, or is confined to a view",
      );
  }

  /** A run has ended, and what it waited for has been told: of runs it waited for nothing need be kept. */
  async ended(run: SuspendedRun, { store }: ServedToolkit): Promise<void> {
    if (!run.isAwaited) this.#local.delete(run.id);
    await this.told(run, undefined, store);
  }

  /** Removes the runs a run waited for and does not any more. */
  async told(run: SuspendedRun, now: SuspendedRun | undefined, store: Store): Promise<void> {
    for (const { id } of run.turn.waiting) {
      if (now?.turn.waiting.some((wait) => wait.id === id)) continue;
      const stored = await getRun(store, id);
      if (stored === undefined || stored.run.status === "running") continue;
      this.#local.delete(id);
      await store.delete(runKey(id), { expectedVersion: stored.version });
    }
  }

  /** See `Agent.forget`. */
  async forget(id: string, { session, by, reason }: ForgetOptions): Promise<void> {
    if (session === undefined && (await this.#deleteUnreadable(id))) return;
    const { run, version, toolkit } = await this.find(id, session);
    if (run.status === "running" && (run.lease?.until ?? 0) > this.now)
      throw runConflict(run, "somebody goes on with it now, so it cannot be forgotten either");
    const why = { by, reason: reason ?? `the run "${id}" of ${run.task.ref}, which asked for it, was given up` };
    await this.#remove({ run, version, toolkit }, why);
  }

  /** One that cannot be read is nobody's, and what it waits for is not known: that expires. */
  async #deleteUnreadable(id: string): Promise<boolean> {
    for (const { store } of this.#toolkits) {
      const record = await store.get(runKey(id));
      if (record === undefined || isReadable(record)) continue;
      await store.delete(runKey(id), { expectedVersion: record.version });
      this.#local.delete(id);
      return true;
    }
    return false;
  }

  /** First the run, so that nobody goes on with it; then what it waits for. */
  async #remove({ run, version, toolkit }: FoundRun, why: Omit<ForgetOptions, "session">): Promise<void> {
    const { store } = toolkit;
    const expected = { expectedVersion: version };
    // Whoever waits for it is told.
    if (run.isAwaited) await store.put({ ...runKey(run.id), value: givenUp(run, why) }, expected);
    else await store.delete(runKey(run.id), expected);
    this.#local.delete(run.id);
    await this.#giveUp(run, toolkit, why);
  }

  /** Denies what a run waits for, where that is not decided yet. */
  async #giveUp({ turn }: SuspendedRun, toolkit: ServedToolkit, why: Omit<ForgetOptions, "session">): Promise<void> {
    for (const { id } of turn.waiting) {
      try {
        const child = await getRun(toolkit.store, id);
        if (child === undefined) await toolkit.approvals.resolve(id, { approved: false, ...why });
        else if (child.run.status !== "running")
          await this.#remove({ ...child, run: { ...child.run, isAwaited: undefined }, toolkit }, why);
      } catch (error) {
        if (!ToolkitError.is(error, "CONFLICT") && !ToolkitError.is(error, "NOT_FOUND")) throw error;
      }
    }
  }

  /** Has the runs a run waits for keep what they come to. */
  async #await({ turn }: SuspendedRun, store: Store): Promise<void> {
    for (const { id } of turn.waiting) {
      const child = await getRun(store, id);
      if (child === undefined || child.run.isAwaited) continue;
      const value: SuspendedRun = { ...child.run, isAwaited: true };
      await store.put({ ...runKey(id), value }, { expectedVersion: child.version });
    }
  }

  async #all({ store, logger }: ServedToolkit): Promise<readonly StoredRun[]> {
    const { records, failures } = await store.list({ collection: "run", owner: "" });
    for (const { error } of failures) logger.error(error.message, { error });
    return records.flatMap((record) => {
      try {
        return [readRun(record)];
      } catch (error) {
        logger.error(messageOf(error), { error });
        return [];
      }
    });
  }

  /** Forgets runs that nobody came for. What fails of that is no fault of whoever happens to come by. */
  async #sweep(toolkit: ServedToolkit): Promise<void> {
    if (this.now - this.#sweptAt < sweepMs) return;
    this.#sweptAt = this.now;
    try {
      for (const { run, version } of await this.#all(toolkit)) {
        if (keptUntil(run, this.#kept.keepMs) > this.now) continue;
        this.#local.delete(run.id);
        await toolkit.store.delete(runKey(run.id), { expectedVersion: version });
      }
    } catch (error) {
      toolkit.logger.warn(`Suspended runs that nobody came for could not be forgotten: ${messageOf(error)}`, { error });
    }
  }
}

/** One principal never learns of the runs of another. Without a session it is the service itself that asks. */
function isOf({ session: { principal } }: SuspendedRun, session: Session | undefined): boolean {
  return session === undefined || session.principal === principal;
}
