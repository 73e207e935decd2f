import type { ToolkitError } from "./error.ts";
import type { Entry } from "./item.ts";
import type { Content } from "./resource.ts";
import type { Session } from "./session.ts";

/** A call that needs approval. */
export interface ApprovalRequest {
  readonly id: string;
  readonly entry: Entry<"tool" | "prompt">;
  /** The ref of what is called. */
  readonly tool: string;
  /** Validated; before defaults and transforms of a Standard Schema. */
  readonly arguments: unknown;
  readonly reason: string;
  /** For people. */
  readonly message: string;
  /** Of the caller. */
  readonly session: Session;
  /** Milliseconds since the epoch. */
  readonly requestedAt: number;
}

/** The decision on a call. */
export interface Decision {
  readonly approved: boolean;
  /** The name of the one who decided. */
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/**
 * The state of a call that waits.
 *
 * - `pending`: it waits for a decision, or for work elsewhere
 * - `running`: it was approved and runs
 * - `succeeded`, `failed`: it ran, or the work elsewhere was completed
 * - `denied`: the decision was against it
 * - `expired`: it was neither decided nor completed in time
 * - `void`: the item that was to be called has changed or is gone, or its arguments have changed
 */
export type ApprovalStatus = "pending" | "running" | "succeeded" | "failed" | "denied" | "expired" | "void";

/** A call that waits, or has waited. */
export interface Approval {
  readonly id: string;
  /** It waits for an `approval`, or for the `completion` of work elsewhere. */
  readonly kind: "approval" | "completion";
  readonly status: ApprovalStatus;
  /** The ref of what was called. */
  readonly tool: string;
  readonly arguments: unknown;
  readonly reason: string;
  readonly message: string;
  /** Milliseconds since the epoch. */
  readonly requestedAt: number;
  readonly expiresAt: number;
  readonly callbackUrl?: string | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  /** Of the caller, as far as JSON holds it. */
  readonly session: Omit<Session, "log" | "elicit" | "sample">;
  readonly decision?: Decision | undefined;
  /** The result, where it succeeded. */
  readonly content?: Content | undefined;
  /** The error with which `wait` rejects, where it did not succeed. */
  readonly error?: ToolkitError | undefined;
}

/** The outcome of work elsewhere. */
export type Completion = { readonly result: unknown } | { readonly error: unknown };

/** The filters of a list of approvals. */
export interface ApprovalQuery {
  readonly status?: ApprovalStatus | readonly ApprovalStatus[] | undefined;
  /** The ref of what was called. */
  readonly tool?: string | undefined;
  readonly principal?: string | undefined;
}

/** The calls of a toolkit that wait for approval, or for work elsewhere. */
export interface Approvals {
  /** Those that are known, the oldest first. */
  list(query?: ApprovalQuery): Promise<readonly Approval[]>;
  /** @throws ToolkitError `NOT_FOUND` */
  get(id: string): Promise<Approval>;
  /**
   * Decides. What is approved is run, once, as its caller: with its session, attachments and `_meta`, and under the policy. Resolves
   * when it has run, to its outcome; the same decision again, at the same time or later, resolves to the same. Of opposite decisions the
   * first one wins.
   *
   * Denied is also what waits for work elsewhere and is given up.
   *
   * @param options - `signal` ends the wait, and not the run
   * @throws ToolkitError `NOT_FOUND`; `CONFLICT` where it was decided otherwise, has expired, or what was to be called is not what it
   *   was; `INVALID_INPUT` for what is no decision, and where work elsewhere is approved instead of completed
   */
  resolve(id: string, decision: Decision, options?: { readonly signal?: AbortSignal | undefined }): Promise<Approval>;
  /**
   * Delivers what work elsewhere came to, once: its result, which is validated as that of the call, or its error.
   *
   * @throws ToolkitError `NOT_FOUND`; `INVALID_OUTPUT` for a result that does not fit: it is waited for still; `CONFLICT` where it was
   *   completed or given up already, or has expired; `INVALID_INPUT` where it waits for approval instead
   */
  complete(id: string, completion: Completion): Promise<Approval>;
  /**
   * Waits until nothing more can become of it.
   *
   * @returns the result of the call
   * @throws ToolkitError `NOT_FOUND`; `DENIED` where it was denied, has expired or is void; whatever the call failed with; `CLOSED`
   *   when the toolkit is; the reason of an abort
   */
  wait(id: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<Content>;
}

/** Limits of the calls that wait. */
export interface ApprovalOptions {
  /** The time for which an approval is waited for, in milliseconds. Default 900,000 (15 minutes). */
  readonly ttlMs?: number | undefined;
  /** The time for which the outcome of one is kept, in milliseconds. Default 900,000 (15 minutes). */
  readonly keepMs?: number | undefined;
  /** The number that is kept. Beyond it those are forgotten first that have ended; where all wait, no more are taken. Default 10,000. */
  readonly limit?: number | undefined;
  /**
   * The bytes of all that are kept, inputs and outcomes, when one is added; those that wait for one principal have half of it. Beyond it as
   * for `limit`. Default 67,108,864 (64 MiB).
   */
  readonly maxBytes?: number | undefined;
  /**
   * For how long the process that runs an approved call may give no sign of life, in milliseconds, until the others that share the store
   * take it for dead. Default 30,000.
   */
  readonly leaseMs?: number | undefined;
}
