import type { SuspendedPrompt } from "../core/served-toolkit.ts";

/** The state of a step in a run. A step without a record has not begun. */
export interface StepRecord {
  /**
   * - `running`: its call was made, and its end is not known
   * - `waiting`: its call waits for an approval, or for work elsewhere
   * - `succeeded`, `failed`: it has ended, and is not done again
   * - `cancelled`: it was ended, since another step failed or the run was cancelled
   * - `skipped`: its `when` was not true
   */
  readonly state: "running" | "waiting" | "succeeded" | "failed" | "cancelled" | "skipped";
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly endedAt?: number | undefined;
  /** With secrets masked, and cut where it is long. */
  readonly input?: unknown;
  readonly result?: unknown;
  /** As JSON. */
  readonly error?: unknown;
  /** The approval that it waits for, or waited for. */
  readonly approval?: string | undefined;
  /** The run of its prompt that it waits for, or waited for, as a delegate keeps it. */
  readonly prompt?: string | undefined;
  /** The approvals that this one waits for. */
  readonly waitsFor?: SuspendedPrompt["waitsFor"] | undefined;
  /** Until when that is waited for, in milliseconds since the epoch. */
  readonly expiresAt?: number | undefined;
  /** It may be done again where it is not known whether it was done. */
  readonly isRepeatable?: true | undefined;
}

/** The states of the steps of one run, by the id of the step with `[n]` for each element around it. */
export interface RunJournal {
  read(path: string): StepRecord | undefined;
  /** Keeps the state of a step. With `isNeeded` it resolves once that outlives this process. @throws ToolkitError `STORE_FAILED`, `CONFLICT` */
  write(path: string, record: StepRecord, isNeeded: boolean): Promise<void>;
  /** True once the run goes on elsewhere, or does so after this process: nothing that happens here counts. */
  readonly isOver: boolean;
  /** The bytes of all records. */
  readonly bytes: number;
}

/** A journal for a run that ends with its process. */
export class MemoryJournal implements RunJournal {
  readonly isOver = false;
  bytes = 0;
  readonly #records = new Map<string, StepRecord>();

  read(path: string): StepRecord | undefined {
    return this.#records.get(path);
  }

  async write(path: string, record: StepRecord): Promise<void> {
    this.#records.set(path, record);
  }
}
