import { randomUUID } from "node:crypto";
import { undecided } from "../call/approval-port.ts";
import type { CallOrigin } from "../call/call-state.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { Entry } from "../core/item.ts";
import type { CallOptions, Logger } from "../core/session.ts";
import { throwIfAborted } from "../core/signal.ts";
import { type Lease, newLease } from "../jobs/lease.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import type { DeadlineOwner, TimeLimits } from "../lib/deadline.ts";
import type { DeadlineScheduler } from "../lib/deadline-scheduler.ts";
import { present } from "../lib/value.ts";
import { noApproval, outcomeUnknown } from "./approval-errors.ts";
import type { ApprovalRecords } from "./approval-records.ts";
import { isDue, type StoredApproval } from "./stored-approval.ts";

/** What a ledger is made with. */
export interface ApprovalLedgerOptions {
  readonly shelf: ApprovalRecords;
  /** Where those wait who want to know what becomes of one. */
  readonly room: DeadlineScheduler;
  readonly logger: Logger;
  /** How long one is waited for where it does not say itself, in milliseconds. */
  readonly ttlMs: number;
  /** How long it is kept afterwards, in milliseconds. */
  readonly keepMs: number;
  /** How long whoever runs one may give no sign of life, in milliseconds. */
  readonly leaseMs: number;
  emit(event: ToolkitEvent): void;
}

/** What is known of a call that begins to wait. */
export type NewApproval = Omit<
  StoredApproval,
  "version" | "sequence" | "status" | "requestedAt" | "expiresAt" | "settledAt"
> & {
  readonly expiresAt?: number | undefined;
};

/** What this process knows of a call that waits, beside what is stored. */
export interface WaitingCall {
  readonly entry: Entry<"tool" | "prompt">;
  readonly origin: CallOrigin;
  readonly options: CallOptions;
  /** As it was given: JSON may not hold all of it. */
  readonly input: unknown;
}

type Change = Partial<Omit<StoredApproval, "id" | "version">>;

const unlimited: TimeLimits = { inactivityMs: Number.POSITIVE_INFINITY, totalMs: Number.POSITIVE_INFINITY };
/** After so long a store that failed is asked again, in milliseconds. */
const retryMs = 60_000;

/** The approvals that are known: opens, changes and forgets them, lets them expire in time, and says when one has changed. */
export class ApprovalLedger {
  readonly #options: ApprovalLedgerOptions;
  readonly #calls = new Map<string, WaitingCall>();
  readonly #changes = new Map<string, PromiseWithResolvers<void>>();
  readonly #unwatch: () => void;
  /** Names this process in leases. */
  readonly #holder = randomUUID();
  #repeat: ((stored: StoredApproval) => Promise<boolean>) | undefined;
  #opened = 0;
  #waiting = 0;
  #timer: Timer | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #closed = false;

  constructor(options: ApprovalLedgerOptions) {
    this.#options = options;
    this.#unwatch = options.shelf.watch((id, isElsewhere) => {
      this.#changed(id);
      if (id === undefined) void this.#sweep();
      else if (isElsewhere === true) void this.#heed(id);
    });
  }

  get now(): number {
    return this.#options.room.clock.now();
  }

  get ttlMs(): number {
    return this.#options.ttlMs;
  }

  get clock(): Clock {
    return this.#options.room.clock;
  }

  get leaseMs(): number {
    return this.#options.leaseMs;
  }

  /** Leave to run one, as of now. */
  newLease(): Lease {
    return newLease(this.#holder, this);
  }

  /** Has one that may run twice run again after whoever ran it is gone: by what resolves to whether that can be done here. */
  repeatWith(repeat: (stored: StoredApproval) => Promise<boolean>): void {
    this.#repeat = repeat;
  }

  /** Looks through all of them: others may have left some behind. */
  look(): Promise<void> {
    return this.#sweep();
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
    this.#opened += 1;
    const about = { sequence: this.#opened, status: "pending", requestedAt: this.now, expiresAt } as const;
    const opened: StoredApproval = { ...fields, ...about, version: 1 };
    if (!(await this.#options.shelf.put(opened))) {
      throw new ToolkitError("CONFLICT", `The approval ${opened.id} is there already.`, { key: opened.id, owners: [] });
    }
    this.#calls.set(opened.id, call);
    this.#requested(opened);
    return opened;
  }

  /** As it is now. @throws ToolkitError `NOT_FOUND` */
  async read(id: string): Promise<StoredApproval> {
    for (;;) {
      const stored = await this.#options.shelf.get(id);
      if (stored === undefined) throw noApproval(id);
      if (!(await this.#advance(stored))) return stored;
    }
  }

  /** All, as they are now, the oldest first. */
  async list(): Promise<readonly StoredApproval[]> {
    const all = await this.#options.shelf.list();
    const advanced = await Promise.all(all.map((stored) => isDue(stored, this.now) && this.#advance(stored)));
    return advanced.includes(true) ? this.#options.shelf.list() : all;
  }

  /** Makes another of it, and tells; undefined where somebody was faster. */
  async change(stored: StoredApproval, change: Change): Promise<StoredApproval | undefined> {
    const changed: StoredApproval = { ...stored, ...change, version: stored.version + 1 };
    if (!(await this.#options.shelf.put(changed))) return undefined;
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
        this.#wakeUpFor(stored);
        await this.#options.room.wait(change.promise, waiterFor(signal), unlimited);
      }
    } finally {
      this.#keepWaiting(-1);
      if (this.#waiting === 0) this.#changes.clear();
    }
  }

  #changed(id: string | undefined): void {
    for (const each of id === undefined ? [...this.#changes.keys()] : [id]) {
      const change = this.#changes.get(each);
      this.#changes.delete(each);
      change?.resolve();
    }
  }

  /** Does what it is time for; false where that was nothing. */
  async #advance(stored: StoredApproval): Promise<boolean> {
    if (!isDue(stored, this.now)) return false;
    if (stored.status === "pending") await this.#expire(stored);
    // Whoever ran it is gone. Where it may run twice, it is left to those who can run it, until it expires.
    else if (stored.isRepeatable && stored.expiresAt > this.now) return (await this.#repeat?.(stored)) ?? false;
    else await this.settle(stored, { status: "failed", lease: undefined, error: outcomeUnknown(stored) });
    return true;
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

  /** Whoever changed it elsewhere may die: it is looked at in time here too, though nobody here waits for it. */
  async #heed(id: string): Promise<void> {
    try {
      const stored = await this.#options.shelf.get(id);
      if (stored !== undefined) this.#wakeUpFor(stored);
    } catch {
      // Who reads it is told; here it is looked for again.
      this.#wakeUpAt(this.now + this.leaseMs);
    }
  }

  /** Looks again when something may be due for it. */
  #wakeUpFor({ status, expiresAt, lease }: StoredApproval): void {
    if (status === "pending") this.#wakeUpAt(expiresAt);
    // One that cannot be repeated here is looked at from time to time: somebody else may, or it expires.
    else if (lease !== undefined) this.#wakeUpAt(lease.until > this.now ? lease.until : this.now + this.leaseMs);
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
    if (this.#closed) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const { shelf, keepMs, logger } = this.#options;
    try {
      for (const stored of await this.list()) {
        const { id, settledAt } = stored;
        if (settledAt === undefined) this.#wakeUpFor(stored);
        else if (settledAt + keepMs <= this.now) await shelf.delete(id);
        else this.#wakeUpAt(settledAt + keepMs);
      }
    } catch (error) {
      if (this.#closed) return;
      logger.error(`The store of approvals failed: ${messageOf(error)}`, { error });
      this.#wakeUpAt(this.now + retryMs);
    }
  }
}

function waiterFor(signal: AbortSignal | undefined): DeadlineOwner {
  const nothing = () => undefined;
  return { callerSignal: signal, onDeadline: nothing, limitError: nothing, abort: nothing };
}
