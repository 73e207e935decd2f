import { ToolkitError } from "../../core/error.ts";
import type { ServedToolkit } from "../../core/served-toolkit.ts";
import { KeptLease, type Lease } from "../../jobs/lease.ts";
import type { Clock } from "../../lib/clock.ts";
import { runConflict } from "./run-errors.ts";
import { runKey } from "./stored-run.ts";
import type { RunOutcome, SuspendedRun } from "./suspended-run.ts";

/** What a claimed run is made of. */
export interface ClaimedParts {
  readonly run: SuspendedRun;
  /** Of the record that says who claimed it. */
  readonly version: number;
  readonly toolkit: ServedToolkit;
  readonly clock: Clock;
  readonly lease: Lease;
  readonly leaseMs: number;
}

/** A run that goes on here and nowhere else, for as long as its lease is renewed. */
export class ClaimedRun {
  readonly run: SuspendedRun;
  readonly toolkit: ServedToolkit;
  readonly #lease: KeptLease;
  readonly #lost = new AbortController();
  #version: number;

  constructor({ run, toolkit, clock, lease, leaseMs, version }: ClaimedParts) {
    this.run = run;
    this.toolkit = toolkit;
    this.#version = version;
    this.#lease = new KeptLease(lease, {
      clock,
      leaseMs,
      renew: (longer) => this.#renew(longer),
      lost: () => this.#lost.abort(runConflict(run, "it is in other hands by now")),
    });
  }

  /** Aborts where somebody else may have taken it. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** It waits again. @throws ToolkitError `CONFLICT` where it is another's by now */
  async suspend(run: SuspendedRun): Promise<void> {
    await this.#lease.stop();
    const { isAwaited } = this.run;
    await this.#put({ ...run, ...(isAwaited ? { isAwaited } : {}) });
  }

  /** It may be tried again, from where it was. */
  async release(): Promise<void> {
    await this.#lease.stop();
    await this.#put(this.run);
  }

  /** It has ended: what it came to is kept only for a run that waits for it. */
  async end(outcome: RunOutcome): Promise<void> {
    await this.#lease.stop();
    const expected = { expectedVersion: this.#version };
    if (this.run.isAwaited) await this.#put({ ...this.run, status: "finished", outcome });
    else await this.toolkit.store.delete(runKey(this.run.id), expected);
  }

  async #renew(lease: Lease): Promise<boolean> {
    try {
      await this.#put({ ...this.run, status: "running", lease });
      return true;
    } catch (error) {
      if (ToolkitError.is(error, "CONFLICT")) return false;
      throw error;
    }
  }

  async #put(value: SuspendedRun): Promise<void> {
    const { store } = this.toolkit;
    const { version } = await store.put({ ...runKey(value.id), value }, { expectedVersion: this.#version });
    this.#version = version;
  }
}
