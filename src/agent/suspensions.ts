import { randomUUID } from "node:crypto";
import { ToolkitError } from "../core/error.ts";
import type { CallContext, Tool, Toolbox } from "../core/item.ts";
import type { SchemaLike } from "../core/schema/types.ts";
import type { ServedToolkit } from "../core/served-toolkit.ts";
import type { RecordKey, Store } from "../core/store.ts";
import { KeptLease, newLease } from "../execute/lease.ts";
import type { Clock } from "../lib/clock.ts";
import { pendingRun, type RunOutcome, readSuspendedRun, type SuspendedRun } from "./suspended-run.ts";

/** What is known of a suspended run in the process where it began, beside what is stored. */
export interface LocalRun {
  /** Of the call that it was: what goes on through it has the same session, depth and view. */
  readonly toolbox: Toolbox;
  readonly ownTools: readonly Tool[] | undefined;
  /** As it was given: what is stored of it neither refines nor transforms. */
  readonly output: SchemaLike | undefined;
}

const leaseMs = 30_000;
/** A run that nobody goes on with is forgotten after so long, in milliseconds. */
const keptMs = 7 * 24 * 3_600_000;
/** So often it is looked for those, at most. */
const sweepMs = 60_000;

const keyOf = (id: string): RecordKey => ({ collection: "run", owner: "", key: id });

/** The runs that wait, in the stores of the toolkits an agent serves. */
export class Suspensions {
  readonly #toolkits: ServedToolkit[] = [];
  readonly #local = new Map<string, LocalRun>();
  readonly #clock: Clock;
  #sweptAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
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

  /**
   * Keeps a run that waits.
   *
   * @throws ToolkitError `PENDING`, when it is kept
   */
  async suspend(run: SuspendedRun, local: LocalRun, { store }: ServedToolkit): Promise<never> {
    this.#local.set(run.id, local);
    await store.put({ ...keyOf(run.id), value: run }, { expectedVersion: 0 });
    await this.#awaits(run, store);
    await this.#sweep(store);
    throw pendingRun(run);
  }

  /** The toolkit whose store has the run, and the run. @throws ToolkitError `NOT_FOUND` */
  async find(
    id: string,
  ): Promise<{ readonly run: SuspendedRun; readonly version: number; readonly toolkit: ServedToolkit }> {
    for (const toolkit of this.#toolkits) {
      const record = await toolkit.store.get(keyOf(id));
      if (record !== undefined) return { run: readSuspendedRun(id, record.value), version: record.version, toolkit };
    }
    const message = `There is no suspended run "${id}". It may have ended, or been forgotten; or its store is another one.`;
    throw new ToolkitError("NOT_FOUND", message, { key: id, suggestions: [] });
  }

  /** True where an id is that of a run, and not of an approval. */
  async has(id: string): Promise<boolean> {
    const records = await Promise.all(this.#toolkits.map(({ store }) => store.get(keyOf(id))));
    return records.some((record) => record !== undefined);
  }

  /**
   * Takes the one leave to go on with a run.
   *
   * @throws ToolkitError `NOT_FOUND`; `CONFLICT` where somebody goes on with it, or it can go on only where it began; `OUTCOME_UNKNOWN`
   *   where whoever went on with it is gone
   */
  async claim(id: string): Promise<ClaimedRun> {
    const { run, version, toolkit } = await this.find(id);
    const local = this.#local.get(id);
    if (run.status === "running") {
      if ((run.lease?.until ?? 0) > this.now) throw conflict(run, "somebody goes on with it now");
      await toolkit.store.delete(keyOf(id), { expectedVersion: version });
      const message = `Whoever went on with the run "${id}" of ${run.task.ref} is gone. What it did is not known: it is not repeated.`;
      throw new ToolkitError("OUTCOME_UNKNOWN", message, { namespace: run.task.ref });
    }
    if (run.isLocal && local === undefined)
      throw conflict(run, "it can go on only in the process where it began: it has tools of its own, or a view");
    const lease = newLease(randomUUID(), { clock: this.#clock, leaseMs });
    const running: SuspendedRun = { ...run, status: "running", lease };
    const claimed = await toolkit.store.put({ ...keyOf(id), value: running }, { expectedVersion: version });
    return new ClaimedRun({
      run,
      version: claimed.version,
      toolkit,
      local,
      clock: this.#clock,
      lease,
      forget: () => this.#local.delete(id),
      awaits: (again) => this.#awaits(again, toolkit.store),
      told: (ids) => this.#told(ids, toolkit.store),
    });
  }

  /** Forgets runs that have ended, once the one that waited for them has told its model. */
  async #told(ids: readonly string[], store: Store): Promise<void> {
    for (const id of ids) {
      const record = await store.get(keyOf(id));
      if (record === undefined || readSuspendedRun(id, record.value).status !== "finished") continue;
      this.#local.delete(id);
      await store.delete(keyOf(id), { expectedVersion: record.version });
    }
  }

  /** Has the runs a run waits for keep what they come to. */
  async #awaits({ turn }: SuspendedRun, store: Store): Promise<void> {
    for (const { id } of turn.waiting) {
      const record = await store.get(keyOf(id));
      if (record === undefined) continue;
      const run = readSuspendedRun(id, record.value);
      if (!run.isAwaited)
        await store.put({ ...keyOf(id), value: { ...run, isAwaited: true } }, { expectedVersion: record.version });
    }
  }

  /** Forgets runs that nobody came for. */
  async #sweep(store: Store): Promise<void> {
    if (this.now - this.#sweptAt < sweepMs) return;
    this.#sweptAt = this.now;
    const { records } = await store.list({ collection: "run", owner: "" });
    for (const { key, version, updatedAt } of records) {
      if (updatedAt + keptMs > this.now) continue;
      this.#local.delete(key);
      await store.delete(keyOf(key), { expectedVersion: version });
    }
  }
}

interface ClaimedParts {
  readonly run: SuspendedRun;
  readonly version: number;
  readonly toolkit: ServedToolkit;
  readonly local: LocalRun | undefined;
  readonly clock: Clock;
  readonly lease: { readonly holder: string; readonly until: number };
  forget(): void;
  awaits(run: SuspendedRun): Promise<void>;
  told(ids: readonly string[]): Promise<void>;
}

/** A run that goes on here and nowhere else, for as long as its lease is renewed. */
export class ClaimedRun {
  readonly run: SuspendedRun;
  readonly toolkit: ServedToolkit;
  readonly local: LocalRun | undefined;
  readonly #parts: ClaimedParts;
  readonly #lease: KeptLease;
  readonly #lost = new AbortController();
  #version: number;

  constructor(parts: ClaimedParts) {
    const { run, toolkit, local, clock, lease, version } = parts;
    this.#parts = parts;
    this.run = run;
    this.toolkit = toolkit;
    this.local = local;
    this.#version = version;
    this.#lease = new KeptLease(lease, {
      clock,
      leaseMs,
      renew: (longer) => this.#put({ ...run, status: "running", lease: longer }),
      lost: () => this.#lost.abort(conflict(run, "it is in other hands by now")),
    });
  }

  /** Aborts where somebody else may have taken it. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** It waits again. @throws ToolkitError `PENDING` */
  async suspend(run: SuspendedRun): Promise<never> {
    await this.#lease.stop();
    await this.#put({ ...run, ...(this.run.isAwaited ? { isAwaited: true as const } : {}) });
    await this.#parts.awaits(run);
    const left = new Set(run.turn.waiting.map(({ id }) => id));
    await this.#parts.told(this.#waitedFor.filter((id) => !left.has(id)));
    throw pendingRun(run);
  }

  /** It may be tried again, from where it was. */
  async release(): Promise<void> {
    await this.#lease.stop();
    await this.#put(this.run);
  }

  /** It has ended: what it came to is kept only for a run that waits for it. */
  async end(outcome: RunOutcome | undefined): Promise<void> {
    await this.#lease.stop();
    await this.#parts.told(this.#waitedFor);
    if (this.run.isAwaited && outcome !== undefined) {
      await this.#put({ ...this.run, status: "finished", outcome });
      return;
    }
    this.#parts.forget();
    await this.toolkit.store.delete(keyOf(this.run.id), { expectedVersion: this.#version });
  }

  get #waitedFor(): readonly string[] {
    return this.run.turn.waiting.map(({ id }) => id);
  }

  async #put(run: SuspendedRun): Promise<boolean> {
    try {
      const { version } = await this.toolkit.store.put(
        { ...keyOf(run.id), value: run },
        { expectedVersion: this.#version },
      );
      this.#version = version;
      return true;
    } catch (error) {
      if (ToolkitError.is(error, "CONFLICT")) return false;
      throw error;
    }
  }
}

function conflict({ id, task }: SuspendedRun, why: string): ToolkitError<"CONFLICT"> {
  const message = `The run "${id}" of ${task.ref} cannot be resumed here: ${why}.`;
  return new ToolkitError("CONFLICT", message, { key: id, owners: [] });
}
