import { approvalRule, usualReason } from "../call/approval-port.ts";
import type { Approval, Decision } from "../core/approval.ts";
import { ToolkitError, type ToolkitErrorOptions } from "../core/error.ts";
import { denied } from "../core/policy.ts";
import { present } from "../lib/value.ts";
import { visible } from "../lib/visible-text.ts";

/** The error of a call that waits. */
export function pendingError(approval: Approval): ToolkitError<"PENDING"> {
  const { id, kind, reason, message, tool, expiresAt, callbackUrl, metadata } = approval;
  const how = kind === "approval" ? "resolve" : "complete";
  const why = reason === usualReason(tool) ? "" : ` (${reason})`;
  const said = kind === "approval" ? `${tool} waits for approval${why}.` : `${tool} is pending${why}: ${message}`;
  const text = `${said} Its id is ${id}: approvals.${how} settles it, before ${new Date(expiresAt).toISOString()}.`;
  const details = { id, reason, message, tool, arguments: approval.arguments, expiresAt };
  return new ToolkitError(
    "PENDING",
    text,
    { ...details, ...present({ callbackUrl, metadata }) },
    { ref: tool, phase: kind === "approval" ? "policy" : "execute" },
  );
}

/** The error of a call that was denied. */
export function deniedBy(ref: string, { by, reason }: Decision): ToolkitError<"DENIED"> {
  const why = [`${by ?? "the approver"} denied it`, reason].filter((text) => text !== undefined);
  return denied(ref, approvalRule, { why: why.join(": "), by, reason });
}

/** The error of an approved call whose process is gone: it may have run. */
export function outcomeUnknown({ id, tool }: Approval, cause?: unknown): ToolkitError<"OUTCOME_UNKNOWN"> {
  const message = `It is not known whether ${tool} ran: the process that ran the approval ${id} is gone. Check before you call it again.`;
  const namespace = tool.slice(0, Math.max(0, tool.indexOf(".")));
  return new ToolkitError("OUTCOME_UNKNOWN", message, { namespace }, { ref: tool, phase: "execute", cause });
}

/** The error for a decision or completion that comes too late, or against an earlier one. */
export function tooLate({ id, tool, status }: Approval, what: string): ToolkitError<"CONFLICT"> {
  const message = `The approval ${id} of ${tool} cannot be ${what}: it is ${status}.`;
  return new ToolkitError("CONFLICT", message, { key: id, owners: [] }, { ref: tool });
}

/** The approval, where there is one. @throws ToolkitError `NOT_FOUND` */
export function foundApproval<T>(id: string, approval: T | undefined): T {
  if (approval !== undefined) return approval;
  const message = `There is no approval "${visible(id)}". It may have been settled a while ago: approvals.list() gives those that are known.`;
  throw new ToolkitError("NOT_FOUND", message, { key: id, suggestions: [] });
}

/** The error for a wrong use of an approval. */
export function misused(
  pointer: string,
  message: string,
  options?: ToolkitErrorOptions,
): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError(
    "INVALID_INPUT",
    `Nothing was done: ${message}.`,
    { issues: [{ pointer, message }] },
    options,
  );
}
