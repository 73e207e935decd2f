import type { Approval } from "../../core/approval.ts";
import type { ApprovalStore, StoredApproval } from "../../core/approval-store.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import type { ToolkitEvent } from "../../core/event.ts";
import type { Entry } from "../../core/item.ts";
import type { CallOptions, Logger } from "../../core/session.ts";
import { throwIfAborted } from "../../core/signal.ts";
import type { Timer } from "../../lib/clock.ts";
import { present } from "../../lib/value.ts";
import type { Waiter, WaitingRoom, WaitLimits } from "../../lib/waiting-room.ts";
import type { CallOrigin } from "../state.ts";
import { noApproval, undecided } from "./errors.ts";

/** What a ledger is made with. */
export interface LedgerOptions {
  readonly store: ApprovalStore;
  /** Where those wait who want to know what becomes of one. */
  readonly room: WaitingRoom;
  readonly logger: Logger;
  /** How long one is waited for where it does not say itself, in milliseconds. */
  readonly ttlMs: number;
  /** How long it is kept afterwards, in milliseconds. */
  readonly keepMs: number;
  emit(event: ToolkitEvent): void;
}

/** What is known of a call that begins to wait. */
export type NewApproval = Omit<StoredApproval, "version" | "status" | "requestedAt" | "expiresAt" | "settledAt"> & {
  readonly expiresAt?: number | undefined;
};

/** What this process knows of a call that waits, beside what is stored. */
export interface WaitingCall {
  readonly entry: Entry<"tool" | "prompt">;
  readonly origin: CallOrigin;
  readonly options: CallOptions;
}

type Change = Partial<Omit<StoredApproval, "id" | "version">>;

const unlimited: WaitLimits = { inactivityMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY };
/** After so long a store that failed is asked again, in milliseconds. */
const retryMs = 60_000;

/** The approvals that are known: opens, changes and forgets them, lets them expire in time, and says when one has changed. */
export class Ledger {
  readonly #options: LedgerOptions;
  readonly #calls = new Map<string, WaitingCall>();
  readonly #changes = new Map<string, PromiseWithResolvers<void>>();
  readonly #unwatch: () => void;
  #waiting = 0;
  #timer: Timer | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(options: LedgerOptions) {
    this.#options = options;
    this.#unwatch = options.store.watch((id) => this.#changed(id));
  }

  get now(): number {
    return this.#options.room.clock.now();
  }

  get ttlMs(): number {
    return this.#options.ttlMs;
  }

  /** What this process knows of one that was opened here. */
  callOf(id: string): WaitingCall | undefined {
    return this.#calls.get(id);
  }

  /** Ends its timer. Who waits is told by the room. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#unwatch();
    this.#changes.clear();
    this.#calls.clear();
  }

  /** @throws ToolkitError `LIMIT_EXCEEDED` when too many wait, `CONFLICT` for an id that is taken */
  async open(
    { expiresAt = this.now + this.ttlMs, ...fields }: NewApproval,
    call: WaitingCall,
  ): Promise<StoredApproval> {
    const opened: StoredApproval = { ...fields, status: "pending", requestedAt: this.now, expiresAt, version: 1 };
    if (!(await this.#options.store.put(opened))) {
      throw new ToolkitError("CONFLICT", `The approval ${opened.id} is there already.`, { key: opened.id, owners: [] });
    }
    this.#calls.set(opened.id, call);
    this.#requested(opened);
    return opened;
  }

  /** As it is now. @throws ToolkitError `NOT_FOUND` */
  async read(id: string): Promise<StoredApproval> {
    for (;;) {
      const stored = await this.#options.store.get(id);
      if (stored === undefined) throw noApproval(id);
      if (!this.#isDue(stored)) return stored;
      await this.#expire(stored);
    }
  }

  /** All, as they are now, the oldest first. */
  async list(): Promise<readonly StoredApproval[]> {
    const all = await this.#options.store.list();
    const due = all.filter((stored) => this.#isDue(stored));
    if (due.length === 0) return all;
    await Promise.all(due.map((stored) => this.#expire(stored)));
    return this.#options.store.list();
  }

  /** Makes another of it, and tells; undefined where somebody was faster. */
  async change(stored: StoredApproval, change: Change): Promise<StoredApproval | undefined> {
    const changed: StoredApproval = { ...stored, ...change, version: stored.version + 1 };
    if (!(await this.#options.store.put(changed))) return undefined;
    if (changed.status === "pending") this.#requested(changed);
    else if (stored.status === "pending") this.#resolved(changed);
    if (changed.settledAt !== undefined) {
      this.#calls.delete(changed.id);
      this.#wakeUpAt(changed.settledAt + this.#options.keepMs);
    }
    return changed;
  }

  /** Nothing more becomes of it. */
  settle(stored: StoredApproval, change: Change): Promise<StoredApproval | undefined> {
    return this.change(stored, { ...change, settledAt: this.now });
  }

  /**
   * Waits until it is so.
   *
   * @throws ToolkitError `NOT_FOUND`, `CLOSED`; the reason of an abort
   */
  async until(
    id: string,
    isSo: (stored: StoredApproval) => boolean,
    signal: AbortSignal | undefined,
  ): Promise<StoredApproval> {
    throwIfAborted(signal);
    this.#keepWaiting(1);
    try {
      for (;;) {
        // Before it is read, so that no change is missed.
        const change = this.#changes.get(id) ?? Promise.withResolvers<void>();
        this.#changes.set(id, change);
        const stored = await this.read(id);
        if (isSo(stored)) return stored;
        // Closed while it was read: nobody else would tell.
        if (this.#closed) throw new ToolkitError("CLOSED", "The toolkit is closed.", { what: "toolkit" });
        if (stored.status === "pending") this.#wakeUpAt(stored.expiresAt);
        await this.#options.room.wait(change.promise, waiterFor(signal), unlimited);
      }
    } finally {
      this.#keepWaiting(-1);
      if (this.#waiting === 0) this.#changes.clear();
    }
  }

  #changed(id: string): void {
    const change = this.#changes.get(id);
    this.#changes.delete(id);
    change?.resolve();
  }

  #isDue({ status, expiresAt }: StoredApproval): boolean {
    return status === "pending" && expiresAt <= this.now;
  }

  async #expire(stored: StoredApproval): Promise<void> {
    const until = new Date(stored.expiresAt).toISOString();
    const what = stored.kind === "approval" ? "decided" : "completed it";
    await this.settle(stored, {
      status: "expired",
      error: undecided(stored.tool, `nobody ${what} until ${until}`),
    });
  }

  #requested({ id, tool, kind, reason, expiresAt, session: { principal } }: StoredApproval): void {
    this.#wakeUpAt(expiresAt);
    this.#options.emit({ type: "approvalRequested", id, ref: tool, kind, reason, ...present({ principal }) });
  }

  #resolved({ id, tool, status, decision, session: { principal } }: StoredApproval): void {
    if (status === "pending") return;
    const { by, reason } = decision ?? {};
    this.#options.emit({ type: "approvalResolved", id, ref: tool, status, ...present({ by, reason, principal }) });
  }

  /** Somebody waits, or one fewer does: what is waited for keeps the process alive. */
  #keepWaiting(change: 1 | -1): void {
    this.#waiting += change;
    this.#timer?.keepAlive(this.#waiting > 0);
  }

  /** Looks through all of them at the time, unless that is done sooner. */
  #wakeUpAt(time: number): void {
    if (this.#closed || time >= this.#wakeAt) return;
    this.#timer?.cancel();
    this.#wakeAt = time;
    const delayMs = Math.max(0, Math.ceil(time - this.now));
    this.#timer = this.#options.room.clock.setTimer(() => void this.#sweep(), delayMs);
    this.#timer.keepAlive(this.#waiting > 0);
  }

  async #sweep(): Promise<void> {
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const { store, keepMs, logger } = this.#options;
    try {
      for (const stored of await this.list()) {
        const dueAt = stored.settledAt === undefined ? stored.expiresAt : stored.settledAt + keepMs;
        if (stored.settledAt !== undefined && dueAt <= this.now) await store.delete(stored.id);
        else if (stored.status !== "running") this.#wakeUpAt(dueAt);
      }
    } catch (error) {
      logger.error(`The store of approvals failed: ${messageOf(error)}`, { error });
      this.#wakeUpAt(this.now + retryMs);
    }
  }
}

/** What of a stored one is for its reader. */
export function asApproval({
  version: _version,
  itemKind: _itemKind,
  binding: _binding,
  meta: _meta,
  isLocal: _isLocal,
  settledAt: _settledAt,
  ...approval
}: StoredApproval): Approval {
  return Object.freeze(approval);
}

function waiterFor(signal: AbortSignal | undefined): Waiter {
  const nothing = () => undefined;
  return { callerSignal: signal, outerSignal: undefined, waits: nothing, limitError: nothing, cut: nothing };
}
