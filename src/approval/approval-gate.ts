import { randomUUID } from "node:crypto";
import { callDigest } from "../call/approval-grant.ts";
import { type ApprovalPort, type HeldCall, undecided } from "../call/approval-port.ts";
import type { CallState } from "../call/call-state.ts";
import type { PendingCall } from "../call/pending-call.ts";
import type { ApprovalRequest, Decision } from "../core/approval.ts";
import type { Definition } from "../core/definition.ts";
import { definitionOf } from "../core/entry.ts";
import { messageOf } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { Entry } from "../core/item.ts";
import type { Session } from "../core/session.ts";
import { isJson, isRecord, present } from "../lib/value.ts";
import { deniedBy, misused, pendingError } from "./approval-errors.ts";
import type { ApprovalLedger, NewApproval } from "./approval-ledger.ts";
import type { StoredApproval } from "./stored-approval.ts";

type Callable = Entry<"tool" | "prompt">;

/** Options of the approval gate. */
export interface ApprovalGateOptions {
  readonly ledger: ApprovalLedger;
  /** Asks whoever decides at once; undefined where nobody does. */
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<Decision | undefined>;
  /** The entry that is registered now for one of before. */
  current(entry: Callable, owner: string): Callable | undefined;
  emit(event: ToolkitEvent): void;
}

/** Where calls are held that need somebody's approval, or whose work completes elsewhere. */
export class ApprovalGate implements ApprovalPort {
  readonly ledger: ApprovalLedger;
  readonly #options: ApprovalGateOptions;

  constructor(options: ApprovalGateOptions) {
    this.#options = options;
    this.ledger = options.ledger;
  }

  /**
   * Lets a call through that has a grant, or that somebody approves at once.
   *
   * @throws ToolkitError `PENDING` where nobody decides at once; `DENIED`
   */
  async pass(requested: HeldCall, reason: string): Promise<void> {
    const { entry, state } = requested;
    const { session, grant } = state;
    const definition = definitionOf(entry as Entry);
    const input = copyOf(requested);
    const digest = callDigest({ ref: entry.ref, definition, session, input });
    if (grant !== undefined) {
      if (grant.take(digest)) return;
      throw undecided(entry.ref, "what was approved is another call, or was made already");
    }
    const message = `${entry.ref} waits for somebody's approval.`;
    const id = randomUUID();
    const request = { id, entry, tool: entry.ref, arguments: input, reason, message, session };
    const decision = await this.#asked({ ...request, requestedAt: this.ledger.now }, state);
    state.throwIfAborted();
    if (decision === undefined)
      throw pendingError(await this.#open(requested, { ...request, kind: "approval", digest }));
    if (!decision.approved) throw deniedBy(entry.ref, decision);
    if (!this.#isCurrent(entry, definition, session))
      throw undecided(entry.ref, "it has changed while it was being approved");
  }

  /**
   * Keeps a call whose work completes elsewhere. One that was approved before goes on waiting under the same id.
   *
   * @throws ToolkitError `PENDING`, when it is kept
   */
  async defer(requested: HeldCall, pending: PendingCall): Promise<never> {
    const { entry, state } = requested;
    const { id, request } = pending;
    const { reason, message, expiresAt, callbackUrl, metadata } = request;
    const about = { kind: "completion", reason, message, callbackUrl, metadata } as const;
    if (state.grant !== undefined) {
      const until = expiresAt ?? this.ledger.now + this.ledger.ttlMs;
      throw pendingError(await this.#deferred(state.grant.id, { ...about, status: "pending", expiresAt: until }));
    }
    const input = copyOf(requested);
    const definition = definitionOf(entry as Entry);
    const digest = callDigest({ ref: entry.ref, definition, session: state.session, input });
    throw pendingError(
      await this.#open(requested, { id, tool: entry.ref, arguments: input, digest, expiresAt, ...about }),
    );
  }

  /** Has one that runs wait again: somebody may be renewing its lease meanwhile. */
  async #deferred(id: string, change: Partial<StoredApproval>): Promise<StoredApproval> {
    for (;;) {
      const stored = await this.ledger.read(id);
      const deferred =
        stored.status === "running" ? await this.ledger.change(stored, { ...change, lease: undefined }) : stored;
      if (deferred !== undefined) return deferred;
    }
  }

  async #open({ entry, state }: HeldCall, fields: Omit<NewApproval, "session" | "itemKind">) {
    const { session, options, meta } = state;
    const { attachments, timeoutMs, bypassCache } = options;
    const { id, tool, kind, reason, message, digest, expiresAt, callbackUrl, metadata } = fields;
    const about = { id, tool, kind, reason, message, digest, arguments: fields.arguments, itemKind: entry.kind };
    const isConfined = attachments !== undefined || state.origin.isConfined;
    const isWritable = isJson([fields.arguments ?? null, session.meta ?? null, meta ?? null]);
    const isLocal = isConfined || !isWritable ? (true as const) : undefined;
    const isRepeatable = mayRunTwice(definitionOf(entry as Entry)) ? (true as const) : undefined;
    const optional = present({ expiresAt, callbackUrl, metadata, meta, isLocal, isRepeatable });
    const call = {
      entry,
      origin: state.origin,
      options: { session, meta, attachments, timeoutMs, bypassCache },
      input: fields.arguments,
    };
    return this.ledger.open({ ...about, ...optional, session: written(session) }, call);
  }

  async #asked(request: ApprovalRequest, state: CallState): Promise<Decision | undefined> {
    const release = state.pauseTimeout();
    try {
      const decision: unknown = await this.#options.ask(request, state.signal);
      if (decision === undefined) return undefined;
      if (!isDecision(decision)) throw new TypeError(`${messageOf(decision)} is no decision.`);
      this.#tell(request, decision);
      return decision;
    } catch (cause) {
      state.throwIfAborted();
      throw undecided(request.tool, `whoever was asked failed: ${messageOf(cause)}`, cause);
    } finally {
      release();
    }
  }

  #tell({ id, tool: ref, reason, session }: ApprovalRequest, decision: Decision): void {
    const of = present({ principal: session.principal });
    this.#options.emit({ type: "approvalRequested", id, ref, kind: "approval", reason, ...of });
    const { by, reason: why } = decision;
    const status = decision.approved ? "running" : "denied";
    this.#options.emit({ type: "approvalResolved", id, ref, status, ...of, ...present({ by, reason: why }) });
  }

  #isCurrent(entry: Callable, { fingerprint }: Definition, { principal = "" }: Session): boolean {
    const current = this.#options.current(entry, principal);
    return current !== undefined && definitionOf(current as Entry).fingerprint === fingerprint;
  }
}

/** True for what somebody decided. */
export function isDecision(value: unknown): value is Decision {
  if (!isRecord(value) || typeof value.approved !== "boolean") return false;
  return [value.by, value.reason].every((text) => text === undefined || typeof text === "string");
}

/** True for a tool that says so of itself. */
function mayRunTwice({ kind, annotations }: Definition): boolean {
  return kind === "tool" && (annotations?.readOnlyHint === true || annotations?.idempotentHint === true);
}

/** What of a session can be written down. */
function written({ id, principal, clientInfo, capabilities, meta }: Session): NewApproval["session"] {
  return { id, ...present({ principal, clientInfo, capabilities, meta }) };
}

/** A copy of the input: what its caller does to it afterwards was not asked about. */
function copyOf({ entry, input }: HeldCall): unknown {
  try {
    return structuredClone(input);
  } catch (cause) {
    throw misused("", `the input of ${entry.ref} cannot be kept until it is approved: ${messageOf(cause)}`, {
      cause,
      ref: entry.ref,
      phase: "validate",
    });
  }
}
