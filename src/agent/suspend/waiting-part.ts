import type { LanguageModelV4Message } from "@ai-sdk/provider";
import type { Approval } from "../../core/approval.ts";
import type { UiToolState, UnansweredCall, WaitingPart } from "../conversation/ui-messages.ts";
import { unlessGone } from "./collect-outcomes.ts";
import { type StoredWait, type SuspendedRun, waitingRun } from "./suspended-run.ts";
import type { FoundRun } from "./suspensions.ts";

/** A suspended run for a chat: its messages, and what each of its calls waits for, those of its sub-agents included. */
export async function waitingPart(found: FoundRun): Promise<WaitingPart> {
  const { run } = found;
  const waitsFor = waitingRun(run).waitsFor.map(({ id, tool, reason, message }) => ({ id, tool, reason, message }));
  return {
    run: run.id,
    waitsFor,
    messages: run.state.messages,
    results: run.turn.parts.filter((part) => part !== null),
    calls: await unansweredCalls(found, ""),
  };
}

/** @param prefix - of the ids of its calls, which are unique in one run alone: as in the stream */
async function unansweredCalls(found: FoundRun, prefix: string): Promise<readonly UnansweredCall[]> {
  const { run, jobs, toolkit } = found;
  const calls = run.turn.waiting.map(async (wait): Promise<readonly UnansweredCall[]> => {
    const about = {
      toolCallId: `${prefix}${wait.callId}`,
      toolName: wait.name,
      input: inputOf(run, wait),
    };
    const child = await jobs.get(wait.id);
    if (child !== undefined) {
      const inner = isWaiting(child) ? await unansweredCalls({ ...found, run: child }, `${child.id}/`) : [];
      return [{ ...about, state: pendingState(wait, false) }, ...inner];
    }
    const approval = await toolkit.approvals.get(wait.id).catch(unlessGone);
    return [{ ...about, state: approval === undefined ? pendingState(wait, true) : approvalState(approval, wait) }];
  });
  return (await Promise.all(calls)).flat();
}

function isWaiting({ status }: SuspendedRun): boolean {
  return status === "suspended" || status === "running";
}

function inputOf({ state }: SuspendedRun, { callId }: StoredWait): unknown {
  const { content = [] }: Partial<LanguageModelV4Message> = state.messages.at(-1) ?? {};
  if (typeof content === "string") return {};
  for (const part of content) if (part.type === "tool-call" && part.toolCallId === callId) return part.input;
  return {};
}

/** One that was decided on shows the decision until the run is resumed. */
function approvalState({ id, kind, status, decision, message }: Approval, wait: StoredWait): UiToolState {
  if (kind === "approval" && status === "pending")
    return { state: "approval-requested", approval: { id, requestReason: message } };
  if (kind === "approval" && decision !== undefined)
    return { state: "approval-responded", approval: { id, approved: decision.approved } };
  return pendingState(wait, true);
}

/** A chat sends no decision while a result is preliminary, and what a sub-agent waits for is asked beside it. */
function pendingState({ id, message }: StoredWait, preliminary: boolean): UiToolState {
  const output = { status: "pending", id, message };
  return preliminary ? { state: "output-available", output, preliminary } : { state: "output-available", output };
}
