import type { LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import type { AgentToolCall } from "../../core/agent-event.ts";
import { ToolkitError } from "../../core/error.ts";
import type { Issue } from "../../core/error-catalog.ts";
import { outputToolName } from "../../core/output-tool.ts";
import type { Content } from "../../core/resource.ts";
import { notFound } from "../../toolset/tool-answer.ts";
import type { ToolRun } from "../../toolset/tool-run.ts";
import type { Toolset } from "../../toolset/toolset.ts";
import type { ToolAnswer, ToolCall } from "../../toolset/toolset-types.ts";
import type { KnownLimits } from "../agent-options.ts";
import type { ModelToolCall } from "../model/reply.ts";
import type { PortTools } from "./model-request.ts";
import { assertNotRepeated, repeatNotes } from "./repeated-calls.ts";
import { type RunEvents, type Spending, withSpending } from "./run-events.ts";
import { type RunResults, resultPart } from "./run-results.ts";
import { difference, isUsage, noUsage, type RunState } from "./run-state.ts";

/** The tools of a run. */
export interface RunTools {
  readonly run: ToolRun;
  readonly port: PortTools;
  readonly set: Toolset;
}

/** A turn with calls that wait. */
export interface WaitingTurn {
  /** The result of each call, in order; null for one that waits. */
  readonly parts: readonly (LanguageModelV4ToolResultPart | null)[];
  readonly waiting: readonly WaitingCall[];
}

/** A call that waits for approval, or for work elsewhere. */
export interface WaitingCall {
  readonly index: number;
  readonly answer: ToolAnswer;
  /** Its result is the answer of the run. */
  readonly takesControl: boolean;
}

/** The outcome of a turn. */
export interface TurnOutcome {
  /** The answer of the run, where a tool took control. */
  readonly final?: Content | undefined;
  /** Where calls wait: the model has got no result of the turn yet. */
  readonly waiting?: WaitingTurn | undefined;
  /** The issues of a submitted answer. */
  readonly refused?: readonly Issue[] | undefined;
}

/** Shared by the turns of a run. */
export interface TurnParts {
  readonly tools: RunTools | undefined;
  readonly state: RunState;
  readonly results: RunResults;
  readonly limits: KnownLimits;
  readonly events: RunEvents;
  /** False where the run cannot be suspended: its model learns that a call is pending, and goes on. */
  readonly canWait: boolean;
  /** For sub-agents. */
  readonly spending: Spending;
}

/** Makes the calls of one turn, and adds their results to the conversation, in order. */
export async function runTurn(calls: readonly ModelToolCall[], parts: TurnParts): Promise<TurnOutcome> {
  const { tools, state, events, limits } = parts;
  const step = state.steps.length - 1;
  for (const { id, name, input } of calls) await events.emit("toolCall", { step, id, name, input });
  if (state.steps.length >= limits.maxRepeatedCalls) assertNotRepeated(calls, state, limits);
  const answers = await answersTo(calls, parts);
  if (tools !== undefined) state.toolCalls = tools.run.toolCalls;
  const waiting: WaitingCall[] = [];
  const results: (LanguageModelV4ToolResultPart | null)[] = [];
  for (const [index, answer] of answers.entries()) {
    const waits = answer.status === "pending" && parts.canWait;
    if (waits) waiting.push({ index, answer, takesControl: tools?.run.takesControl(answer.name) === true });
    results.push(waits ? null : await resultFor(answer, parts));
    if (waits) await record(answer, undefined, parts);
  }
  if (waiting.length > 0) return { waiting: { parts: results, waiting } };
  addResults(results, state);
  return { final: tools?.run.final, refused: refusedAnswer(answers) };
}

/** Continues a turn with calls that waited. `outcomes` are the answers to those, in their order. */
export async function resumeTurn(
  turn: WaitingTurn,
  outcomes: readonly ToolAnswer[],
  parts: TurnParts,
): Promise<TurnOutcome> {
  const results = [...turn.parts];
  const waiting: WaitingCall[] = [];
  let final: Content | undefined;
  for (const [nth, call] of turn.waiting.entries()) {
    const answer = outcomes[nth] ?? call.answer;
    if (answer.status === "pending") {
      waiting.push({ ...call, answer });
      continue;
    }
    results[call.index] = await resultFor(answer, parts, true);
    if (call.takesControl && answer.status === "ok") final = answer.content;
  }
  if (waiting.length > 0) return { waiting: { parts: results, waiting } };
  addResults(results, parts.state);
  return { final };
}

async function answersTo(
  calls: readonly ModelToolCall[],
  { tools, spending }: TurnParts,
): Promise<readonly ToolAnswer[]> {
  if (tools === undefined) return calls.map((call) => notFound(call, []));
  const { port, run } = tools;
  const made = calls.map((call): ToolCall => ({ ...call, input: port.input(call.name, call.input) }));
  return withSpending(spending, () => run.execute(made));
}

/** The result of a call for the model; it is kept and recorded. */
async function resultFor(
  answer: ToolAnswer,
  parts: TurnParts,
  hasWaited = false,
): Promise<LanguageModelV4ToolResultPart> {
  const { results, state, tools, limits } = parts;
  const isNew = answer.status === "ok" && !state.guided.includes(answer.name);
  if (isNew) state.guided.push(answer.name);
  const guidance = isNew ? (tools?.set.guidance({ used: [answer.name] }) ?? "") : "";
  const notes = guidance === "" ? [] : [`[How to read this result]\n${guidance}`];
  if (state.steps.length >= limits.repeatNoticeAt) notes.push(...repeatNotes(answer.id, state, limits));
  const { part, uri } = await resultPart(answer, results, notes);
  await record(answer, uri, parts, hasWaited);
  return part;
}

/** Records the outcome of a call, and the usage of a sub-agent. */
async function record(
  answer: ToolAnswer,
  uri: string | undefined,
  { state, events }: TurnParts,
  hasWaited = false,
): Promise<void> {
  const { id, name, ref, status, durationMs, error, content } = answer;
  const call: AgentToolCall = { id, name, ref, step: state.steps.length - 1, status, durationMs };
  // Looked for only where it waited: a model may make many calls in one turn.
  const waited = hasWaited ? state.calls.findIndex((each) => each.id === id && each.status === "pending") : -1;
  if (waited < 0) state.calls.push(call);
  else state.calls[waited] = call;
  const { ref: tool, ...outcome } = call;
  await events.emit("toolResult", { ...outcome, tool, uri, content, error });
  const { usage: used, run } = answer.content?.meta ?? {};
  if (typeof run !== "string" || !isUsage(used)) return;
  // The usage of a sub-agent in this process was added as it arose; that in another process was not.
  const rest = difference(used, state.inner[run] ?? noUsage);
  if (rest.inputTokens + rest.outputTokens > 0) await events.usedInside(run, rest);
}

function addResults(parts: readonly (LanguageModelV4ToolResultPart | null)[], { messages }: RunState): void {
  messages.push({ role: "tool", content: parts.filter((part) => part !== null) });
}

function refusedAnswer(answers: readonly ToolAnswer[]): readonly Issue[] | undefined {
  for (const { name, error } of answers) {
    if (name === outputToolName && ToolkitError.is(error, "INVALID_INPUT")) return error.details.issues;
  }
  return undefined;
}
