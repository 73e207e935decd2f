import type { LanguageModelV4ToolResultPart } from "@ai-sdk/provider";
import type { AgentToolCall } from "../../core/agent-event.ts";
import { ToolkitError } from "../../core/error.ts";
import type { Issue } from "../../core/error-catalog.ts";
import { outputToolName } from "../../core/output-tool.ts";
import type { Content } from "../../core/resource.ts";
import type { ToolRun } from "../../toolset/tool-run.ts";
import type { Toolset } from "../../toolset/toolset.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import type { PortTools } from "./model-request.ts";
import type { RequestedCall } from "./reply.ts";
import type { RunEvents } from "./run-events.ts";
import type { Results } from "./run-results.ts";
import type { RunState } from "./run-state.ts";
import { type Spending, spendingFrom } from "./spending.ts";
import { malformedPart, resultPart, toolMessage } from "./tool-message.ts";
import { difference, isUsage, noUsage } from "./usage.ts";

/** The tools of a run. */
export interface RunTools {
  readonly run: ToolRun;
  readonly port: PortTools;
  readonly set: Toolset;
}

/** A turn of calls, some of which still wait. */
export interface WaitingTurn {
  /** What is known of each call, in order; null for one that waits. */
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

/** What a turn came to. */
export interface TurnOutcome {
  /** The answer of the run, where a tool took control. */
  readonly final?: Content | undefined;
  /** Where some calls wait: nothing has been said to the model yet. */
  readonly waiting?: WaitingTurn | undefined;
  /** What is wrong with an answer that was submitted. */
  readonly refused?: readonly Issue[] | undefined;
}

/** What the turns of a run share. */
export interface TurnParts {
  readonly tools: RunTools | undefined;
  readonly state: RunState;
  readonly results: Results;
  readonly teller: RunEvents;
  /** Where not, a model is told of calls that are pending, and goes on. */
  readonly canWait: boolean;
  /** What sub-agents spend. */
  readonly spending: Spending;
}

/** Makes the calls of one turn, and says to the model what became of each, in order. */
export async function runTurn(calls: readonly RequestedCall[], parts: TurnParts): Promise<TurnOutcome> {
  const { tools, state, teller } = parts;
  const step = state.steps.length - 1;
  for (const { id, name, input } of calls) await teller.emit("toolCall", { step, id, name, input });
  const readable = calls.filter(({ malformed }) => malformed === undefined);
  const answers = await spendingFrom(parts.spending, () => answersTo(readable, tools));
  if (tools !== undefined) state.toolCalls = tools.run.toolCalls;
  const waiting: WaitingCall[] = [];
  const told: (LanguageModelV4ToolResultPart | null)[] = [];
  for (const [index, call] of calls.entries()) {
    const answer = answers.get(call);
    if (answer === undefined) {
      told.push(malformedPart(call));
      await record(failedCall(call), undefined, parts);
    } else if (answer.status === "pending" && parts.canWait) {
      waiting.push({ index, answer, takesControl: tools?.run.takesControl(answer.name) === true });
      told.push(null);
      await record(answer, undefined, parts);
    } else told.push(await tellModel(answer, parts));
  }
  if (waiting.length > 0) return { waiting: { parts: told, waiting } };
  say(told, state);
  return {
    final: tools?.run.final,
    refused: refusedAnswer(calls.map((call) => answers.get(call) ?? failedCall(call))),
  };
}

/** Goes on with a turn whose calls had to wait: `outcomes` are what those came to, in their order. */
export async function resumeTurn(
  turn: WaitingTurn,
  outcomes: readonly ToolAnswer[],
  parts: TurnParts,
): Promise<TurnOutcome> {
  const told = [...turn.parts];
  const waiting: WaitingCall[] = [];
  let final: Content | undefined;
  for (const [nth, call] of turn.waiting.entries()) {
    const answer = outcomes[nth] ?? call.answer;
    if (answer.status === "pending") {
      waiting.push({ ...call, answer });
      continue;
    }
    told[call.index] = await tellModel(answer, parts);
    if (call.takesControl && answer.status === "ok") final = answer.content;
  }
  if (waiting.length > 0) return { waiting: { parts: told, waiting } };
  say(told, parts.state);
  return { final };
}

async function answersTo(
  calls: readonly RequestedCall[],
  tools: RunTools | undefined,
): Promise<ReadonlyMap<RequestedCall, ToolAnswer>> {
  if (tools === undefined) return new Map(calls.map((call) => [call, failedCall(call)]));
  const given = calls.map(({ id, name, input }) => ({ id, name, input: tools.port.input(name, input) }));
  const answers = await tools.run.execute(given);
  return new Map(answers.flatMap((answer, nth) => (calls[nth] === undefined ? [] : [[calls[nth], answer]])));
}

/** What became of a call, for the model and for whoever listens; its result is kept. */
async function tellModel(answer: ToolAnswer, parts: TurnParts): Promise<LanguageModelV4ToolResultPart> {
  const { results, state, tools } = parts;
  const isKept = answer.content !== undefined && !results.isReading(answer.name);
  const uri = isKept ? results.add(answer.content) : undefined;
  const isNew = answer.status === "ok" && !state.guided.includes(answer.name);
  if (isNew) state.guided.push(answer.name);
  const guidance = isNew ? (tools?.set.guidance({ used: [answer.name] }) ?? "") : "";
  const told = await resultPart(answer, { results, uri, guidance });
  await record(answer, uri, parts);
  return told;
}

/** Notes what became of a call, and what it used where it was a sub-agent. */
async function record(answer: ToolAnswer, uri: string | undefined, { state, teller }: TurnParts): Promise<void> {
  const { id, name, ref, status, durationMs, error } = answer;
  const call: AgentToolCall = { id, name, ref, step: state.steps.length - 1, status, durationMs };
  const waited = state.calls.findIndex((each) => each.id === id && each.status === "pending");
  if (waited < 0) state.calls.push(call);
  else state.calls[waited] = call;
  await teller.emit("toolResult", { ...call, uri, error });
  const { usage: used, run } = answer.content?.meta ?? {};
  if (!isUsage(used) || typeof run !== "string") return;
  // What a sub-agent used here was told as it was used; what it used elsewhere was not.
  const rest = difference(used, state.inner[run] ?? noUsage);
  if (rest.inputTokens + rest.outputTokens > 0) await teller.usedInside(run, rest);
}

function say(parts: readonly (LanguageModelV4ToolResultPart | null)[], { messages }: RunState): void {
  messages.push(toolMessage(parts.filter((part) => part !== null)));
}

/** A call that nothing runs: there are no tools, or its arguments cannot be read. */
function failedCall({ id, name, malformed }: RequestedCall): ToolAnswer {
  const error =
    malformed === undefined
      ? new ToolkitError("NOT_FOUND", `There is no tool "${name}". There are no tools.`, { key: name, suggestions: [] })
      : new ToolkitError("INVALID_INPUT", `The arguments of ${name} are no JSON: ${malformed}.`, {
          issues: [{ pointer: "", message: "is no JSON" }],
        });
  const debug = { forced: false, exclusive: false, cached: false, attempts: 0 };
  return { id, name, status: "failed", error, references: [], durationMs: 0, debug };
}

function refusedAnswer(answers: readonly ToolAnswer[]): readonly Issue[] | undefined {
  for (const { name, error } of answers) {
    if (name === outputToolName && ToolkitError.is(error, "INVALID_INPUT")) return error.details.issues;
  }
  return undefined;
}
