import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { outputToolName } from "../../core/output-tool.ts";
import { canonicalJson } from "../../lib/canonical.ts";
import type { KnownLimits } from "../agent-options.ts";
import type { ModelToolCall } from "../model/reply.ts";
import type { RunState } from "./run-state.ts";

/**
 * The calls of the last turn that were made in turns before it too, by their ids: in how many turns in a row, the last included. An answer that
 * is submitted again is none: repairs have a limit of their own.
 */
function repeatedCalls(messages: LanguageModelV4Prompt): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const turns = turnsOf(messages);
  const [last, ...earlier] = turns;
  if (last === undefined || earlier.length === 0) return counts;
  const open = new Map(callsIn(last));
  for (const [nth, turn] of earlier.entries()) {
    const before = new Set(callsIn(turn).map(([, key]) => key));
    for (const [id, key] of open) {
      if (before.has(key)) counts.set(id, nth + 2);
      else open.delete(id);
    }
    if (open.size === 0) break;
  }
  return counts;
}

/** The answers of the model since a user last spoke, the latest first. */
function turnsOf(messages: LanguageModelV4Prompt): readonly LanguageModelV4Message[] {
  const begin = messages.findLastIndex(({ role }) => role === "user") + 1;
  return messages
    .slice(begin)
    .filter(({ role }) => role === "assistant")
    .reverse();
}

function callsIn({ content }: LanguageModelV4Message): readonly (readonly [id: string, key: string])[] {
  if (typeof content === "string") return [];
  return content.flatMap((part) => {
    if (part.type !== "tool-call" || part.providerExecuted === true || part.toolName === outputToolName) return [];
    return [[part.toolCallId, `${part.toolName} ${canonicalJson(part.input)}`] as const];
  });
}

/** @throws ToolkitError `STEP_LIMIT` where one of the calls is made in too many turns in a row */
export function assertNotRepeated(
  calls: readonly ModelToolCall[],
  state: RunState,
  { maxRepeatedCalls: max }: KnownLimits,
): void {
  const repeated = repeatedCalls(state.messages);
  const call = calls.find(({ id }) => (repeated.get(id) ?? 1) >= max);
  if (call === undefined) return;
  const toolCalls = state.calls.length;
  const message = `The run was ended because its model made the same call of ${call.name} in ${max} turns in a row. Raise maxRepeatedCalls, or have the tool say what to do instead.`;
  throw new ToolkitError("STEP_LIMIT", message, { maxSteps: state.steps.length, reached: { text: "", toolCalls } });
}

/** The words with which a model learns that it repeats a call. */
export function repeatNotes(
  callId: string,
  { messages }: RunState,
  { repeatNoticeAt, maxRepeatedCalls }: KnownLimits,
): readonly string[] {
  const times = repeatedCalls(messages).get(callId) ?? 1;
  if (times < repeatNoticeAt) return [];
  const end = Number.isFinite(maxRepeatedCalls) ? ` The run is ended at ${maxRepeatedCalls}.` : "";
  return [
    `[You have made this same call in ${times} turns in a row. Repeating it changes nothing: go on with what you have, or try something else.${end}]`,
  ];
}
