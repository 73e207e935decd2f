import { randomUUID } from "node:crypto";
import { callDigest } from "../call/approval-grant.ts";
import { type ApprovalPort, type HeldCall, undecided } from "../call/approval-port.ts";
import { toCallError } from "../call/call-error.ts";
import type { CallState } from "../call/call-state.ts";
import { wayOf } from "../call/call-way.ts";
import type { PendingCall } from "../call/pending-call.ts";
import type { ApprovalRequest, Decision } from "../core/approval.ts";
import type { Definition } from "../core/definition.ts";
import { definitionOf } from "../core/entry.ts";
import { messageOf } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { Entry } from "../core/item.ts";
import { madeUpSessions } from "../core/session.ts";
import { isSafeToRepeat } from "../core/tool-options.ts";
import { storedSession } from "../jobs/job.ts";
import { isJson, isRecord, present } from "../lib/value.ts";
import { deniedBy, foundApproval, misused, pendingError } from "./approval-errors.ts";
import { type ApprovalJobs, requestedEvent, resolvedEvent, type StoredApproval } from "./stored-approval.ts";

type Callable = Entry<"tool" | "prompt">;

/** Options of the approval gate. */
export interface ApprovalGateOptions {
  readonly jobs: ApprovalJobs;
  /** The time for which an approval is waited for, in milliseconds, where the call does not say. */
  readonly ttlMs: number;
  /** Asks the delegates that decide at once; undefined where none does. */
  ask(request: ApprovalRequest, signal: AbortSignal): Promise<Decision | undefined>;
  /** The entry that is registered now for one of before. */
  current(entry: Callable, owner: string): Callable | undefined;
  emit(event: ToolkitEvent): void;
  /** The name by which other processes reach this one; undefined where none can. */
  address(): Promise<string | undefined>;
}

type Opening = Pick<StoredApproval, "id" | "kind" | "arguments" | "reason" | "message"> &
  Partial<Pick<StoredApproval, "expiresAt" | "callbackUrl" | "metadata">>;

/** Holds the calls that need approval, and those whose work completes elsewhere. */
export class ApprovalGate implements ApprovalPort {
  readonly #options: ApprovalGateOptions;
  #opened = 0;

  constructor(options: ApprovalGateOptions) {
    this.#options = options;
  }

  async pass(requested: HeldCall, reason: string): Promise<unknown> {
    const { entry, state } = requested;
    const { session, grant } = state;
    const { ref: tool } = entry;
    const definition = definitionOf(entry as Entry);
    const input = copyOf(requested);
    if (grant !== undefined) {
      if (grant.take(callDigest({ ref: tool, definition, session, input }))) return input;
      throw undecided(tool, "the approval is for another call, or was used already");
    }
    const about = { id: randomUUID(), arguments: input, reason, message: `${tool} waits for approval.` };
    const requestedAt = this.#options.jobs.now;
    const request = { ...about, arguments: structuredClone(input), entry, tool, session, requestedAt };
    const decision = await this.#ask(request, state);
    state.throwIfAborted();
    if (decision === undefined) throw pendingError(await this.#open(requested, { ...about, kind: "approval" }));
    if (!decision.approved) throw deniedBy(tool, decision);
    if (!this.#isCurrent(entry, definition, session.principal))
      throw undecided(tool, "it has changed while it was being approved");
    return input;
  }

  async defer(requested: HeldCall, { id, request }: PendingCall): Promise<never> {
    const { entry, state } = requested;
    const { jobs, ttlMs } = this.#options;
    const { reason, message, expiresAt = jobs.now + ttlMs, callbackUrl, metadata } = request;
    if (expiresAt <= jobs.now) {
      const cause = new TypeError("context.pending wants a time in the future for expiresAt.");
      throw toCallError(entry.ref, "execute")(cause);
    }
    const about = { kind: "completion", reason, message, expiresAt, callbackUrl, metadata } as const;
    if (state.grant === undefined)
      throw pendingError(await this.#open(requested, { id, arguments: copyOf(requested), ...about }));
    const { id: approved } = state.grant;
    const released = await jobs.claimOf(approved)?.release({ ...about, status: "pending" });
    throw pendingError(released ?? foundApproval(approved, await jobs.get(approved)));
  }

  async #open({ entry, state }: HeldCall, about: Opening): Promise<StoredApproval> {
    const { origin, meta, session } = state;
    const via = wayOf(state);
    const { attachments, timeoutMs, bypassCache, forced, conversation, model } = state.options;
    const runOptions = present({ forced, conversation, model });
    const hasRunOptions = Object.keys(runOptions).length > 0;
    const isAnonymous = state.givenSession === undefined;
    if (isAnonymous) madeUpSessions.add(session);
    const { jobs, ttlMs } = this.#options;
    const { ref: tool, kind: itemKind } = entry;
    const { arguments: input } = about;
    const definition = definitionOf(entry as Entry);
    const isWritable = isJson([input ?? null, session.meta ?? null, meta ?? null, runOptions]);
    const isLocal = attachments !== undefined || origin.isConfined || !isWritable;
    const approval: StoredApproval = {
      version: 0,
      status: "pending",
      sequence: ++this.#opened,
      requestedAt: jobs.now,
      expiresAt: jobs.now + ttlMs,
      ...about,
      tool,
      itemKind,
      session: storedSession(session),
      digest: callDigest({ ref: tool, definition, session, input }),
      ...present({
        meta,
        via,
        runOptions: hasRunOptions ? runOptions : undefined,
        isAnonymous: isAnonymous || undefined,
        isLocal: isLocal || undefined,
        madeBy: isLocal ? await this.#options.address() : undefined,
        isRepeatable: mayRunTwice(definition) || undefined,
      }),
    };
    const options = { session, meta, attachments, timeoutMs, bypassCache, ...runOptions };
    return jobs.create(approval, { entry, origin, options, input: structuredClone(input) });
  }

  async #ask(request: ApprovalRequest, state: CallState): Promise<Decision | undefined> {
    const release = state.pauseTimeout();
    const { ask, emit } = this.#options;
    try {
      const decision: unknown = await ask(request, state.signal);
      if (decision === undefined) return undefined;
      if (!isDecision(decision)) throw new TypeError(`${messageOf(decision)} is no decision.`);
      emit(requestedEvent({ ...request, kind: "approval" }));
      emit(resolvedEvent({ ...request, decision, status: decision.approved ? "running" : "denied" }));
      return decision;
    } catch (cause) {
      state.throwIfAborted();
      throw undecided(request.tool, `the delegate that was asked failed: ${messageOf(cause)}`, cause);
    } finally {
      release();
    }
  }

  #isCurrent(entry: Callable, { fingerprint }: Definition, principal = ""): boolean {
    const current = this.#options.current(entry, principal);
    return current !== undefined && definitionOf(current as Entry).fingerprint === fingerprint;
  }
}

/** True for a decision. */
export function isDecision(value: unknown): value is Decision {
  if (!isRecord(value) || typeof value.approved !== "boolean") return false;
  return [value.by, value.reason].every((text) => text === undefined || typeof text === "string");
}

/** True for a tool that says so of itself. */
function mayRunTwice({ kind, annotations }: Definition): boolean {
  return kind === "tool" && isSafeToRepeat(annotations);
}

/** A copy of the input: later changes by its caller are no part of the question. */
function copyOf({ entry, input }: HeldCall): unknown {
  try {
    return structuredClone(input);
  } catch (cause) {
    const message = `the input of ${entry.ref} cannot be kept until it is approved: ${messageOf(cause)}`;
    throw misused("", message, { cause, ref: entry.ref, phase: "validate" });
  }
}
