import type { Approval } from "./approval.ts";

/** An approval as it is kept. Everything in it is JSON, or has a `toJSON`. */
export interface StoredApproval extends Approval {
  /** From 1, one more with each change. */
  readonly version: number;
  readonly itemKind: "tool" | "prompt";
  /** A digest of whose call it is, of what, as it was then, with which arguments: what a grant is bound to. */
  readonly binding: string;
  /** Only where it was made can it be run: it has attachments, or is confined to a view. Elsewhere it is void. */
  readonly isLocal?: true | undefined;
  /** Sent along as `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
  /** When nothing more can become of it, in milliseconds since the epoch. */
  readonly settledAt?: number | undefined;
}

/**
 * Where calls that wait are kept. A store that several processes share lets one of them run an approved call: `put` of the status
 * `running` succeeds for one, and a lease on what is running is the store's own.
 */
export interface ApprovalStore {
  get(id: string): Promise<StoredApproval | undefined>;
  /** All, the oldest first. */
  list(): Promise<readonly StoredApproval[]>;
  /**
   * Keeps it, if what is kept is the version before: none for version 1. Resolves to whether it did.
   *
   * @throws ToolkitError `LIMIT_EXCEEDED` when it is full
   */
  put(approval: StoredApproval): Promise<boolean>;
  delete(id: string): Promise<void>;
  /** Calls back with the id of whatever is changed or deleted, by another process too, until the returned function is called. */
  watch(listener: (id: string) => void): () => void;
}

/** How calls that wait are kept. */
export interface ApprovalOptions {
  /** How long an approval is waited for, in milliseconds. Default 900,000 (15 minutes). */
  readonly ttlMs?: number | undefined;
  /** How long it is known afterwards what became of one, in milliseconds. Default 900,000 (15 minutes). */
  readonly keepMs?: number | undefined;
  /** Default: in memory, at most 10,000. */
  readonly store?: ApprovalStore | undefined;
}
