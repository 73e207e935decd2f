import type { CallContext } from "../../core/item.ts";
import type { Store } from "../../core/store.ts";
import { present } from "../../lib/value.ts";
import type { Toolset } from "../../toolset/toolset.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import type { KnownLimits, ParsedAgentOptions } from "../agent-options.ts";
import type { ModelCall } from "../model/model-call.ts";
import { type ChosenModel, modelRefOf } from "../model/models.ts";
import { thinkingOptions } from "../model/provider-quirks.ts";
import { AgentRun } from "./agent-run.ts";
import { type StructuredForm, structuredForm } from "./run-answer.ts";
import { RunEvents } from "./run-events.ts";
import { type OwnedResults, RunResults } from "./run-results.ts";
import type { RunState } from "./run-state.ts";
import { beginTools, offeredTools } from "./run-tools.ts";
import type { Task } from "./task.ts";
import type { WaitingTurn } from "./tool-turn.ts";

/** Everything a run needs. */
export interface Preparation {
  readonly task: Task;
  readonly state: RunState;
  /** The record of its results, where it is resumed. */
  readonly results?: OwnedResults | undefined;
  /** Of the toolkit that the agent serves, for results that are too long for the conversation. */
  readonly store: Store | undefined;
  readonly context: CallContext;
  readonly chosen: ChosenModel;
  readonly limits: KnownLimits;
  readonly options: ParsedAgentOptions;
  readonly call: ModelCall;
  /** Stores a run that waits. Undefined where it cannot be suspended: its model learns that calls are pending, and goes on. */
  readonly suspend?: ((turn: WaitingTurn, results: RunResults) => Promise<never>) | undefined;
}

/** The part of a preparation that does not depend on the call. */
export interface Assignment extends Pick<Preparation, "task" | "state" | "results" | "store" | "limits" | "suspend"> {
  /** The turn that it goes on after, and the answers to the calls that waited, where it is resumed. */
  readonly resumed?: { readonly turn: WaitingTurn; readonly outcomes: readonly ToolAnswer[] } | undefined;
  /** Aborts once another process may have resumed it. */
  readonly lost?: AbortSignal | undefined;
}

/**
 * Prepares a run: its tools, the form of its answer, its system prompt.
 *
 * @throws ToolkitError `NOT_FOUND` for an unknown tool, `INVALID_SCHEMA` for an invalid output schema
 */
export async function prepareRun(preparation: Preparation): Promise<AgentRun> {
  const { task, state, context, chosen, limits, options, call, suspend } = preparation;
  const set = await offeredTools(task, { options, limits, context, signal: call.signal });
  const form = task.output === undefined ? undefined : structuredForm(task.output, task.name, set !== undefined);
  const own = form?.tool === undefined ? [] : [form.tool];
  const { signal } = call;
  const tools = set && beginTools(set, own, { context, signal, toolCalls: state.toolCalls, turns: state.steps.length });
  const results = new RunResults({
    ...{ run: state.id, limits, options, context, signal, store: preparation.store },
    isTaken: (name) => set?.get(name) !== undefined,
    offer: (reading) => tools?.run.offer(reading),
  });
  const { results: stored } = preparation;
  if (stored !== undefined || state.messages.length > 1) await results.restore(state.messages, stored);
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
    price: options.prices[modelRefOf(chosen)],
    call,
    clock: options.clock,
    context,
    events: new RunEvents(task.ref, state, context),
    suspend: suspend === undefined ? undefined : (turn) => suspend(turn, results),
  });
}

function systemOf({ system }: Task, set: Toolset | undefined, form: StructuredForm | undefined): string {
  return [system?.trim(), set?.guidance(), form?.instruction].filter(Boolean).join("\n\n");
}
