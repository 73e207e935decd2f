import type { ToolkitError } from "../core/error.ts";
import type { Entry } from "../core/item.ts";
import { denied } from "../core/policy.ts";
import type { CallState } from "./call-state.ts";
import type { PendingCall } from "./pending-call.ts";

/** A call that needs a decision, or whose work completes elsewhere. */
export interface HeldCall {
  readonly entry: Entry<"tool" | "prompt">;
  readonly state: CallState;
  readonly input: unknown;
}

/** The port through which the pipeline asks for approvals. */
export interface ApprovalPort {
  /**
   * Lets a call through that has a grant, or that is approved at once.
   *
   * @returns the input that was approved: a copy, which nothing can have changed meanwhile, and which is to be run
   * @throws ToolkitError `PENDING` where nothing decides at once; `DENIED`
   */
  pass(call: HeldCall, reason: string): Promise<unknown>;
  /**
   * Keeps a call whose work completes elsewhere. One that was approved before goes on waiting under the same id.
   *
   * @throws ToolkitError `PENDING`, when it is kept
   */
  defer(call: HeldCall, pending: PendingCall): Promise<never>;
}

/** The rule in a `DENIED` error of a call that needed approval. */
export const approvalRule = "approval";

/** The reason of a tool that says no more than that it needs approval. */
export function usualReason(ref: string): string {
  return `${ref} needs approval`;
}

/** The error of a call for which no decision could be had. */
export function undecided(ref: string, why: string, cause?: unknown): ToolkitError<"DENIED"> {
  return denied(ref, approvalRule, { why, cause });
}
