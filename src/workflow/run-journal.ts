import { setTimeout } from "node:timers/promises";
import { ToolkitError } from "../core/error.ts";
import type { Claim } from "../jobs/claim.ts";
import type { RunJournal, StepRecord } from "./step-record.ts";
import type { RunEnd, StepRecords, StoredRun } from "./stored-run.ts";

/** A write is followed by a rest of so many times its length, and of no more than so many milliseconds. */
const restFactor = 1;
const maxRestMs = 200;

/**
 * The states of the steps of a run that is claimed here, in its record. States that are to be kept at the same time are kept by one write: a
 * thousand steps that end together cost few of them.
 */
export class ClaimedJournal implements RunJournal {
  readonly #claim: Claim<StoredRun, RunEnd>;
  readonly #closing: AbortSignal;
  readonly #records: Map<string, StepRecord>;
  #bytes = 0;
  #next: Promise<void> | undefined;
  #writing: Promise<void> = Promise.resolve();
  /** For how long the next write waits, in milliseconds. */
  #restMs = 0;

  constructor(claim: Claim<StoredRun, RunEnd>, closing: AbortSignal) {
    this.#claim = claim;
    this.#closing = closing;
    this.#records = new Map(Object.entries(claim.job.steps));
    for (const record of this.#records.values()) this.#bytes += sizeOf(record);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isOver(): boolean {
    return this.#closing.aborted || this.#claim.lost.aborted;
  }

  /** All of them, as they are now. */
  get records(): StepRecords {
    return Object.fromEntries(this.#records);
  }

  read(path: string): StepRecord | undefined {
    return this.#records.get(path);
  }

  async write(path: string, record: StepRecord, isNeeded: boolean): Promise<void> {
    const before = this.#records.get(path);
    this.#bytes += sizeOf(record) - (before === undefined ? 0 : sizeOf(before));
    this.#records.set(path, record);
    if (isNeeded) await this.#flush();
  }

  #flush(): Promise<void> {
    // A write has the states of its beginning: those that come since are in the next one.
    this.#next ??= this.#writing.then(async () => {
      if (this.#restMs >= 1) await setTimeout(this.#restMs);
      this.#next = undefined;
      const written = this.#put();
      this.#writing = written.catch(() => undefined);
      return written;
    });
    return this.#next;
  }

  async #put(): Promise<void> {
    const beganAt = performance.now();
    const isHeld = await this.#claim.update({ steps: this.records });
    // Each write is of the whole record. Where that is long, more steps share one, and other work has most of the time.
    this.#restMs = Math.min((performance.now() - beganAt) * restFactor, maxRestMs);
    if (isHeld) return;
    const { id } = this.#claim.job;
    throw new ToolkitError("CONFLICT", `Another process goes on with the run "${id}".`, { key: id, owners: [] });
  }
}

function sizeOf({ result }: StepRecord): number {
  return result === undefined ? 0 : Buffer.byteLength(JSON.stringify(result) ?? "");
}
