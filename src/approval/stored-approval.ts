import { serialize } from "node:v8";
import { undecided } from "../call/approval-port.ts";
import { toCallError } from "../call/call-error.ts";
import type { CallOrigin } from "../call/call-state.ts";
import type { Approval } from "../core/approval.ts";
import type { ToolkitError } from "../core/error.ts";
import { errorFromJson, errorToJson } from "../core/error-json.ts";
import type { EventMap, ToolkitEvent } from "../core/event.ts";
import type { Entry } from "../core/item.ts";
import { isVia, type OuterCall } from "../core/outer-call.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions } from "../core/session.ts";
import type { Job, JobType } from "../jobs/job.ts";
import { Jobs, type JobsOptions } from "../jobs/jobs.ts";
import { all, having, isBoolean, isNumber, isText, isTrue, listOf, oneOf, optional } from "../lib/field-checks.ts";
import { isRecord, present } from "../lib/value.ts";
import { contentFromJson } from "../resource/from-json.ts";
import { outcomeUnknown } from "./approval-errors.ts";

/** An approval as it is kept. Everything in it is JSON, or has a form in JSON. */
export interface StoredApproval extends Approval, Job {
  readonly session: Approval["session"];
  /** Its number among those of its process: it tells apart what came in one millisecond. */
  readonly sequence: number;
  readonly itemKind: "tool" | "prompt";
  /** A digest of the caller, of what is called as it was then, and of the arguments: a grant is for these. */
  readonly digest: string;
  /** It can be run only where it was made: it has attachments, or is confined to a view. Once that is gone it is void. */
  readonly isLocal?: true | undefined;
  /** The process that made it, where only that can run it and others reach it. */
  readonly madeBy?: string | undefined;
  /** The tool says of itself that it may run twice. */
  readonly isRepeatable?: true | undefined;
  /** The calls that led to it, the outermost first. Missing in a record of an early version. */
  readonly via?: readonly OuterCall[] | undefined;
  /** The options with which an agent is to execute the prompt. */
  readonly runOptions?: RunCallOptions | undefined;
  /** It was called without a session: that of its record is made up. */
  readonly isAnonymous?: true | undefined;
  /** Sent along as `_meta`. */
  readonly meta?: Readonly<Record<string, unknown>> | undefined;
}

/** The options of a call that are for the agent that executes a prompt. */
export type RunCallOptions = Pick<CallOptions, "forced" | "conversation" | "model">;

/** The part of a waiting call that only the process knows in which it was made. */
export interface LocalCall {
  readonly entry: Entry<"tool" | "prompt">;
  readonly origin: CallOrigin;
  readonly options: CallOptions;
  /** A copy of its input as it was asked about: JSON may not hold all of it. */
  readonly input: unknown;
}

/** The calls that wait for approval, or for work elsewhere. */
export type ApprovalJobs = Jobs<StoredApproval, Content, LocalCall>;

/** The options of approvals, beside those of all jobs. */
interface ApprovalJobsOptions extends Omit<JobsOptions<StoredApproval>, "changed"> {
  /** The time for which one is kept after its end, in milliseconds. */
  readonly keepMs: number;
  emit(event: ToolkitEvent): void;
}

export function approvalJobs({ keepMs, emit, ...options }: ApprovalJobsOptions): ApprovalJobs {
  return new Jobs(approvalType(keepMs), {
    ...options,
    changed(approval, before) {
      if (approval.status === "pending") emit(requestedEvent(approval));
      else if (before?.status === "pending") emit(resolvedEvent({ ...approval, status: approval.status }));
    },
  });
}

type Named = Pick<Approval, "id" | "tool" | "session">;

export function requestedEvent(approval: Named & Pick<Approval, "kind" | "reason">): ToolkitEvent {
  const { id, tool: ref, kind, reason, session } = approval;
  return { type: "approvalRequested", id, ref, kind, reason, ...present({ principal: session.principal }) };
}

export function resolvedEvent(
  approval: Named & Pick<EventMap["approvalResolved"], "status"> & Pick<Approval, "decision">,
) {
  const { id, tool: ref, status, decision, session } = approval;
  const by = present({ by: decision?.by, reason: decision?.reason, principal: session.principal });
  return { type: "approvalResolved", id, ref, status, ...by } as const;
}

function approvalType(keepMs: number): JobType<StoredApproval, Content> {
  return {
    collection: "approval",
    one: "an approval",
    many: "approvals",
    full: (limit) =>
      `${limit} calls wait for approval or completion, and no more are kept. Resolve some, or wait until they expire.`,
    remedy: () => "Delete it.",
    bytesOf: ({ arguments: input, meta, runOptions }) => serialize([input, meta, runOptions]).byteLength,
    fields,
    toJson: ({ content, error }) => ({ content: content?.toJSON(), error: error && errorToJson(error) }),
    fromJson: ({ content, error, ...stored }) => ({
      ...stored,
      ...present({ content: content && contentFromJson(content), error: error && revivedError(error) }),
    }),
    expiresAt: ({ expiresAt }) => expiresAt,
    keptUntil: ({ settledAt = 0 }) => settledAt + keepMs,
    isSpare: () => true,
    isRepeatable: ({ isRepeatable }) => isRepeatable === true,
    completed: (_approval, content) => ({ status: "succeeded", content }),
    failed: ({ tool }, error) => ({ status: "failed", error: toCallError(tool, "execute")(error) }),
    lost: (approval) => ({ status: "failed", error: outcomeUnknown(approval) }),
    expired: ({ tool, kind, expiresAt }) => {
      const what = kind === "approval" ? "decided" : "completed";
      const error = undecided(tool, `it was not ${what} until ${new Date(expiresAt).toISOString()}`);
      return { status: "expired", error };
    },
  };
}

/** The approval for its reader. */
export function toApproval(stored: StoredApproval): Approval {
  const { version, sequence, itemKind, digest, via, meta, isLocal, madeBy, isRepeatable, lease, settledAt, ...others } =
    stored;
  const { runOptions, isAnonymous, ...approval } = others;
  return Object.freeze(approval);
}

/** The error, in which the content that a server sent along is a Content again. */
function revivedError(json: unknown): ToolkitError {
  const error = errorFromJson(json);
  const { content } = error.details as { readonly content?: unknown };
  if (content === undefined) return error;
  try {
    const details = { ...error.details, content: contentFromJson(content) };
    return errorFromJson({ ...error.toJSON(), details });
  } catch {
    return error;
  }
}

const fields: JobType<StoredApproval, Content>["fields"] = {
  ...all(isText, "tool", "reason", "message", "digest"),
  ...all(isNumber, "requestedAt", "expiresAt", "sequence"),
  ...all(optional(isTrue), "isLocal", "isRepeatable", "isAnonymous"),
  ...all(optional(isRecord), "metadata", "meta", "content", "error"),
  kind: oneOf("approval", "completion"),
  status: oneOf("pending", "running", "succeeded", "failed", "denied", "expired", "void"),
  itemKind: oneOf("tool", "prompt"),
  via: optional(isVia),
  madeBy: optional(isText),
  runOptions: optional(
    having<RunCallOptions>({ forced: optional(listOf(isText)), model: optional(isText), conversation: () => true }),
  ),
  arguments: () => true,
  callbackUrl: optional(isText),
  decision: optional(having({ approved: isBoolean })),
};
