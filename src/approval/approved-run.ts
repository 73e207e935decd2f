import { ToolkitError } from "../core/error.ts";
import { KeptLease, type Lease } from "../jobs/lease.ts";
import type { ApprovalLedger } from "./approval-ledger.ts";
import type { StoredApproval } from "./stored-approval.ts";

/** What becomes of a run: it is settled, or goes on `running` elsewhere. */
export type Outcome = Pick<StoredApproval, "content" | "error" | "lease"> & {
  readonly status: "succeeded" | "failed" | "running";
};

/** A call that was approved, while it runs here: under a lease, so that others know when this process is gone. */
export class ApprovedRun {
  readonly #ledger: ApprovalLedger;
  readonly #lease: KeptLease;
  readonly #lost = new AbortController();
  /** As it was written last. */
  #stored: StoredApproval;

  constructor(stored: StoredApproval, lease: Lease, ledger: ApprovalLedger) {
    this.#stored = stored;
    this.#ledger = ledger;
    const { clock, leaseMs } = ledger;
    this.#lease = new KeptLease(lease, {
      clock,
      leaseMs,
      renew: (longer) => this.#renew(longer),
      lost: () => this.#lost.abort(lostError(stored)),
    });
  }

  /** Runs it, and keeps what became of it, unless somebody else took it over or it goes on waiting. */
  async end(call: (signal: AbortSignal) => Promise<Outcome>): Promise<void> {
    const outcome = await call(this.#lost.signal).finally(() => this.#lease.stop());
    if (outcome.status === "running") await this.#ledger.change(this.#stored, outcome);
    else await this.#ledger.settle(this.#stored, { lease: undefined, ...outcome });
  }

  async #renew(lease: Lease): Promise<boolean> {
    const renewed = await this.#ledger.change(this.#stored, { lease });
    if (renewed === undefined) return false;
    this.#stored = renewed;
    return true;
  }
}

function lostError({ id, tool }: StoredApproval): ToolkitError<"CONFLICT"> {
  const message = `The call of ${tool} was cut: the approval ${id} under which it ran is in other hands by now.`;
  return new ToolkitError("CONFLICT", message, { key: id, owners: [] }, { ref: tool, phase: "execute" });
}
