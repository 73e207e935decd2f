import { randomUUID } from "node:crypto";
import { ToolkitError } from "../core/error.ts";
import type { Claim } from "../jobs/claim.ts";
import type { JobChange } from "../jobs/job.ts";
import { keysOf, type RunPieces } from "./run-pieces.ts";
import type { RunJournal, StepRecord } from "./step-record.ts";
import type { PiecesOfRun, RunEnd, StepRecords, StoredRun } from "./stored-run.ts";

/** States of steps of so many bytes are moved from the record to a piece, so that no write grows with the run. */
const maxTailBytes = 32 * 1_024;
/** So many bytes are written with whole records before what never changes becomes a piece too: a short run has none. */
const maxWholeBytes = 2 ** 20;

/**
 * The states of the steps of a run that is claimed here. Its record has the latest of them, and names the pieces with those before. States
 * that are to be kept at the same time are kept by one write: a thousand steps that end together cost few of them.
 */
export class ClaimedJournal implements RunJournal {
  readonly #claim: Claim<StoredRun, RunEnd>;
  readonly #closing: AbortSignal;
  readonly #store: RunPieces;
  readonly #records: Map<string, StepRecord>;
  #bytes = 0;
  /** Those that are in no piece, and what they take at most. */
  #tail: Map<string, StepRecord>;
  #tailBytes = 0;
  /** The pieces that were written here. Those of a holder before have nothing that the tail had not at first. */
  #pieces: PiecesOfRun | undefined;
  readonly #startBytes: number;
  #wholeBytes = 0;
  #next: Promise<void> | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(claim: Claim<StoredRun, RunEnd>, closing: AbortSignal, pieces: RunPieces) {
    const { steps, workflow, input, meta } = claim.job;
    this.#claim = claim;
    this.#closing = closing;
    this.#store = pieces;
    this.#records = new Map(Object.entries(steps));
    this.#tail = new Map(this.#records);
    this.#startBytes = bytesOf([workflow, input, meta]);
    for (const [path, record] of this.#records) {
      this.#bytes += bytesOf(record.result);
      this.#tailBytes += bytesOf([path, record]);
    }
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
    this.#bytes += bytesOf(record.result) - bytesOf(this.#records.get(path)?.result);
    this.#records.set(path, record);
    this.#tail.set(path, record);
    this.#tailBytes += bytesOf([path, record]);
    if (isNeeded) await this.#flush();
  }

  /** Has all of them in the record, with a change of it: for a run that has no holder for a while. @throws ToolkitError `STORE_FAILED` */
  async gather(change: JobChange<StoredRun>): Promise<void> {
    await this.#writing;
    await this.#update({ ...change, steps: this.records, pieces: startOf(this.#claim.job.pieces) });
  }

  #flush(): Promise<void> {
    // A write has the states of its beginning: those that come since are in the next one.
    this.#next ??= this.#writing.then(async () => {
      this.#next = undefined;
      const written = this.#put();
      this.#writing = written.catch(() => undefined);
      return written;
    });
    return this.#next;
  }

  async #put(): Promise<void> {
    if (this.#pieces === undefined) this.#wholeBytes += this.#startBytes + this.#tailBytes;
    const isLong = this.#pieces === undefined && this.#wholeBytes > maxWholeBytes;
    if (isLong || this.#tailBytes > maxTailBytes) await this.#cut();
    const pieces = this.#pieces ?? startOf(this.#claim.job.pieces);
    if (await this.#update({ steps: Object.fromEntries(this.#tail), pieces })) return;
    const { id } = this.#claim.job;
    throw new ToolkitError("CONFLICT", `Another process goes on with the run "${id}".`, { key: id, owners: [] });
  }

  /** Writes what is in no piece as one. It counts from the next write of the record. */
  async #cut(): Promise<void> {
    const { id: run, workflow, input, meta } = this.#claim.job;
    const before = this.#pieces ?? { id: randomUUID(), count: 0 };
    const parts = before.count === 0 ? [{ workflow, input, meta }] : [];
    const pieces = { ...before, count: before.count + parts.length + 1 };
    const keys = keysOf(pieces).slice(before.count);
    const tail = this.#tail;
    this.#tail = new Map();
    this.#tailBytes = 0;
    try {
      const written = [...parts, Object.fromEntries(tail)];
      await Promise.all(written.map((value, number) => this.#store.put(run, keys[number] ?? "", value)));
      this.#pieces = pieces;
    } catch (error) {
      // No key is written twice: the next piece is the first one of others, and has all.
      this.#pieces = undefined;
      this.#tail = new Map(this.#records);
      this.#tailBytes = maxTailBytes + 1;
      throw error;
    }
  }

  /** Writes the record, and removes the pieces that it names no more. Resolves to whether the run is held still. */
  async #update(change: JobChange<StoredRun>): Promise<boolean> {
    const { id, pieces: before } = this.#claim.job;
    const isHeld = await this.#claim.update(change);
    const { pieces: now } = change;
    try {
      if (!isHeld) await this.#store.discardOfEnded(id);
      else if (before !== undefined && (before.id !== now?.id || before.count > now.count)) {
        const named = new Set(now && keysOf(now));
        await this.#store.remove(
          id,
          keysOf(before).filter((key) => !named.has(key)),
        );
      }
    } catch {
      // They are removed at the end of the run.
    }
    return isHeld;
  }
}

/** The pieces without those of steps. */
function startOf(pieces: PiecesOfRun | undefined): PiecesOfRun | undefined {
  return pieces && { ...pieces, count: 1 };
}

function bytesOf(value: unknown): number {
  return value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value) ?? "");
}
