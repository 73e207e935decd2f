import type { Store } from "../core/store.ts";
import type { Claim } from "../jobs/claim.ts";
import type { JobPieces } from "../jobs/job-records.ts";
import { having } from "../lib/field-checks.ts";
import { isSteps, type PiecesOfRun, type RunEnd, type StepRecords, type StoredRun } from "./stored-run.ts";
import type { Workflow } from "./workflow-definition.ts";

/** The first piece: what never changes. The others have states of steps. */
type RunStart = Pick<StoredRun, "workflow" | "input" | "meta">;

const isStart = having<RunStart>({ workflow: having<Workflow>({ name: (name) => typeof name === "string" }) });

/**
 * The pieces of long runs: their start, and states of steps that are in no later write of the record. Each is written once, under a key that
 * only one holder writes, and counts once the record names it: so the version of the record fences them too. The run is their owner.
 */
export class RunPieces implements JobPieces<StoredRun> {
  readonly #store: Store;
  readonly #maxBytes: number;

  /** @param maxBytes - of the pieces of one run */
  constructor(store: Store, maxBytes: number) {
    this.#store = store;
    this.#maxBytes = maxBytes;
  }

  /** @throws ToolkitError `STORE_FAILED`; `LIMIT_EXCEEDED` where the pieces of the run become too large */
  async put(run: string, key: string, value: RunStart | StepRecords): Promise<void> {
    const quota = { bytes: this.#maxBytes };
    await this.#store.put({ ...named(run, key), value }, { expectedVersion: 0, quota });
  }

  async join(run: StoredRun): Promise<StoredRun | undefined> {
    const { id, pieces, settledAt } = run;
    if (pieces === undefined || settledAt !== undefined) return run;
    const { records, failures } = await this.#store.list({ collection, owner: id });
    const [failure] = failures;
    if (failure !== undefined) throw new TypeError(failure.error.message);
    const values = new Map(records.map(({ key, value }) => [key, value]));
    const [start, ...parts] = keysOf(pieces).map((key) => values.get(key));
    if (start === undefined || parts.includes(undefined)) return undefined;
    if (!isStart(start) || !parts.every(isSteps)) throw new TypeError("a piece of it is not valid");
    // The checks let nothing else through. What the record has itself is the latest.
    const { workflow, input, meta } = start as RunStart;
    const steps = new Map([...(parts as StepRecords[]), run.steps].flatMap((part) => Object.entries(part)));
    return Object.freeze({ ...run, workflow, input, meta, steps: Object.fromEntries(steps) });
  }

  /** Has all of a run in its record, and nothing beside it. */
  async gather(claim: Claim<StoredRun, RunEnd>, steps: StepRecords): Promise<void> {
    const { id, pieces } = claim.job;
    // Listed before the write that shows that the run is held still: those of a later holder are not among them.
    const keys = await this.#keys(id);
    if (pieces === undefined && keys.length === 0) return;
    if (await claim.update({ steps, pieces: undefined })) await this.remove(id, keys);
  }

  /** Removes those of a run that has ended without a holder. Where that fails they go with its record. */
  async settled({ id, settledAt, pieces }: StoredRun): Promise<void> {
    if (settledAt !== undefined && pieces !== undefined) await this.discard({ id }).catch(() => undefined);
  }

  async discard({ id }: Pick<StoredRun, "id">): Promise<void> {
    await this.remove(id, await this.#keys(id));
  }

  /** For one who wrote a piece, and does not hold the run any more: those of a run that has ended have no other reader. */
  async discardOfEnded(run: string): Promise<void> {
    const record = await this.#store.get(named("", run));
    const { settledAt } = (record?.value ?? { settledAt: 0 }) as Partial<StoredRun>;
    if (settledAt !== undefined) await this.discard({ id: run });
  }

  async remove(run: string, keys: readonly string[]): Promise<void> {
    await Promise.all(keys.map((key) => this.#store.delete(named(run, key))));
  }

  async #keys(owner: string): Promise<readonly string[]> {
    const { records, failures } = await this.#store.list({ collection, owner });
    return [...records, ...failures].map(({ key }) => key);
  }
}

const collection = "workflow";

function named(owner: string, key: string) {
  return { collection, owner, key } as const;
}

/** The keys of pieces in the order in which they were written. */
export function keysOf({ id, count }: PiecesOfRun): readonly string[] {
  return Array.from({ length: count }, (_, number) => `${id}.${number}`);
}
