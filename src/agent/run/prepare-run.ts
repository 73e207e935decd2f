import type { CallContext } from "../../core/item.ts";
import { present } from "../../lib/value.ts";
import type { OwnTool } from "../../toolset/own-tools.ts";
import { Toolset } from "../../toolset/toolset.ts";
import type { KnownLimits, ReadAgentOptions } from "../agent-options.ts";
import type { ModelCall } from "../model/model-call.ts";
import { refOf } from "../model/model-ref.ts";
import type { ChosenModel } from "../model/models.ts";
import { thinkingOptions } from "../model/thinking.ts";
import { AgentRun } from "./agent-run.ts";
import { type StructuredForm, structuredForm } from "./answer-form.ts";
import { portTools } from "./model-request.ts";
import { RunEvents } from "./run-events.ts";
import { Results } from "./run-results.ts";
import type { RunState } from "./run-state.ts";
import { offeredTools } from "./run-tools.ts";
import type { Task } from "./task.ts";
import type { RunTools, WaitingTurn } from "./tool-turn.ts";

/** What a run is prepared from. */
export interface Preparation {
  readonly task: Task;
  readonly state: RunState;
  /** What was kept of its results, where it goes on. */
  readonly results?: ReturnType<Results["toJSON"]> | undefined;
  readonly context: CallContext;
  readonly chosen: ChosenModel;
  readonly limits: KnownLimits;
  readonly options: ReadAgentOptions;
  readonly call: ModelCall;
  /** Keeps a run that waits. Undefined where nothing can: its model is told that calls are pending, and goes on. */
  readonly suspend?: ((turn: WaitingTurn, results: Results) => Promise<never>) | undefined;
}

/** What is to be done, apart from who asks and how. */
export interface Assignment extends Pick<Preparation, "task" | "state" | "results" | "limits" | "suspend"> {
  /** Aborts where somebody else may go on with it. */
  readonly lost?: AbortSignal | undefined;
}

/** The names the tool that reads results may have, the first that nothing else has. */
const readNames = ["read_resource", "read_tool_result", "read_rest_of_tool_result"];

/**
 * Puts a run together: the tools it may use, the form of its answer, its system prompt.
 *
 * @throws ToolkitError `NOT_FOUND` for a tool there is not, `INVALID_SCHEMA` for an output schema that is none
 */
export async function prepareRun(preparation: Preparation): Promise<AgentRun> {
  const { task, state, context, chosen, limits, options, call, suspend } = preparation;
  const { toolbox, session } = context;
  const offer = { ...offerOf(options, limits), toolbox, session, signal: call.signal };
  const set = await offeredTools(task, offer);
  const form = task.output === undefined ? undefined : structuredForm(task.output, task.name, set !== undefined);
  const toolName = readNames.find((name) => set?.get(name) === undefined) ?? "read_resource";
  const results = new Results({ run: state.id, maxBytes: limits.maxResultBytes, toolName });
  if (preparation.results !== undefined) results.restore(preparation.results);
  const own = [results.tool, ...(form?.tool === undefined ? [] : [form.tool])];
  const tools = set === undefined ? undefined : runTools(set, own, { context, call, state });
  return new AgentRun({
    name: task.name,
    chosen,
    question: {
      system: systemOf(task, set, form),
      form,
      settings: { ...options.settings, ...present({ ...task.settings }) },
      thinking: thinkingOptions(chosen.model, task),
    },
    form,
    state,
    results,
    tools,
    limits,
    price: options.prices[refOf(chosen)],
    call,
    clock: options.clock,
    context,
    teller: new RunEvents(task.ref, state, context),
    suspend: suspend === undefined ? undefined : (turn) => suspend(turn, results),
  });
}

function offerOf({ policy, maxDefinitionTokens: maxTokens }: ReadAgentOptions, { maxToolCalls }: KnownLimits) {
  const maxTotalToolCalls = Math.min(policy.maxTotalToolCalls ?? Number.POSITIVE_INFINITY, maxToolCalls);
  return { policy: { ...policy, maxTotalToolCalls }, maxTokens };
}

/** Its calls are made through the toolbox of the call that the run is, so they inherit session, trace, policy and depth. */
function runTools(
  set: Toolset,
  own: readonly OwnTool[],
  { context, call, state }: { readonly context: CallContext; readonly call: ModelCall; readonly state: RunState },
): RunTools {
  const { session, meta } = context;
  const heard = context.hasListener ? { onEvent: context.emit.bind(context) } : {};
  const begin = { session, meta, signal: call.signal, toolCalls: state.toolCalls, depth: context.depth + 1, ...heard };
  const run = Toolset.beginWith(set, begin, own);
  return { run, port: portTools(run), set };
}

function systemOf({ system }: Task, set: Toolset | undefined, form: StructuredForm | undefined): string {
  const parts = [system?.trim(), set?.guidance(), form?.instruction];
  return parts.filter((part) => part !== undefined && part !== "").join("\n\n");
}
