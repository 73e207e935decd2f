import { toCallError } from "../../call/call-error.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { errorToJson } from "../../core/error-json.ts";
import type { CallContext, Toolbox } from "../../core/item.ts";
import type { Content } from "../../core/resource.ts";
import { present } from "../../lib/value.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import type { ResumeOptions } from "../agent.ts";
import { readLimits } from "../agent-options.ts";
import type { AgentRun } from "../run/agent-run.ts";
import type { Assignment } from "../run/prepare-run.ts";
import type { RunState } from "../run/run-state.ts";
import { inlinePrompt, type Task } from "../run/task.ts";
import type { WaitingTurn } from "../run/tool-turn.ts";
import type { ClaimedRun } from "./claimed-run.ts";
import { assertSettled, finishedContent, outcomeOf, untilSettled } from "./collect-outcomes.ts";
import { pendingRun, type RunOutcome, type SuspendedRun, suspendedRun } from "./suspended-run.ts";
import type { Suspensions } from "./suspensions.ts";

/** Executes what is assigned, in the context of a call. */
type Executor = (
  assignment: Assignment,
  context: CallContext,
  go: (run: AgentRun) => Promise<Content>,
) => Promise<Content>;

/** Whoever resumes, and through what. */
interface Resumer extends ResumeOptions {
  /** Of the run that waits for this one. */
  readonly toolbox?: Toolbox | undefined;
}

const noLimits = Object.fromEntries(
  [
    "maxSteps",
    "maxToolCalls",
    "maxRepairs",
    "maxOutputBytes",
    "maxResultBytes",
    "maxTokens",
    "maxCost",
    "timeoutMs",
  ].map((name) => [name, Number.POSITIVE_INFINITY]),
) as never;

/** Goes on with runs that were suspended. */
export class ResumeRun {
  readonly #suspensions: Suspensions;
  readonly #execute: Executor;

  constructor(suspensions: Suspensions, execute: Executor) {
    this.#suspensions = suspensions;
    this.#execute = execute;
  }

  /** See `Agent.resume`. */
  async resume(id: string, options: Resumer): Promise<Content> {
    const found = await this.#suspensions.find(id, options.session);
    const { run, toolkit } = found;
    if (run.status === "finished") return finishedContent(run);
    await this.#suspensions.assertClaimable(found);
    if (options.wait === true) await untilSettled(found, options.signal);
    else await assertSettled(found);
    const local = this.#suspensions.localOf(id);
    const { output = run.task.output } = local ?? {};
    const prompt = inlinePrompt({ name: run.task.name, output }, (_input, context) => {
      const work = this.#goOn(id, context, options);
      toolkit.hold(work);
      return work;
    });
    const { toolbox = local?.toolbox ?? toolkit.toolbox, signal, onEvent } = options;
    // Through the call that it was, its session is that of then.
    const session = options.session ?? (toolbox === toolkit.toolbox ? run.session : undefined);
    return toolbox.call(prompt, {}, present({ signal, onEvent, session, meta: run.meta }));
  }

  /** Claims it no sooner than its call has begun, so that nothing can come between that leaves it claimed. */
  async #goOn(id: string, context: CallContext, options: Resumer): Promise<Content> {
    const claimed = await this.#suspensions.claim(id);
    const { run, toolkit } = claimed;
    const child = (childId: string, { signal, toolbox }: CallContext) =>
      this.resume(childId, { onEvent: options.onEvent, signal, toolbox });
    // A copy, so that what is kept stays as it was.
    const state = structuredClone(run.state);
    const calls = state.calls.length;
    let isKnown = false;
    try {
      const outcomes = await Promise.all(run.turn.waiting.map((wait) => outcomeOf(wait, toolkit, context, child)));
      isKnown = outcomes.some(({ status }) => status !== "pending");
      const assignment = this.#assignment(claimed, state);
      const go = (agentRun: AgentRun) => agentRun.goOn(turnOf(run, outcomes), outcomes);
      const content = await this.#execute(assignment, context, go);
      await this.#end(claimed, { content: content.toJSON() });
      return content;
    } catch (error) {
      if (ToolkitError.is(error, "PENDING")) throw error;
      const hasActed = isKnown && state.calls.length > calls;
      if (hasActed) await this.#end(claimed, { error: errorToJson(toCallError(run.task.ref, "execute")(error)) });
      // Nothing was done that would be done twice.
      else await noted(claimed, claimed.release());
      throw error;
    }
  }

  /** What is left to do of a run, from the step it was in. */
  #assignment(claimed: ClaimedRun, state: RunState): Assignment {
    const { run, toolkit, lost } = claimed;
    const { id, isLocal, session, meta } = run;
    const limits = readLimits(run.limits, noLimits);
    const { ownTools, output = run.task.output } = this.#suspensions.localOf(id) ?? {};
    const task: Task = { ...run.task, messages: state.messages, ownTools, output };
    const suspend: Assignment["suspend"] = async (turn, results) => {
      const { now } = this.#suspensions;
      const waiting = suspendedRun({ task, state, results, turn, limits, isLocal, now, caller: { session, meta } });
      const again = { ...waiting, id };
      await this.#suspensions.keeping(again, toolkit, () => claimed.suspend(again));
      await noted(claimed, this.#suspensions.told(run, again, toolkit.store));
      throw pendingRun(again);
    };
    return { task, state, limits, results: run.results, suspend, lost };
  }

  /** Its answer is there, or its failure: that this cannot be written down changes neither. */
  async #end(claimed: ClaimedRun, outcome: RunOutcome): Promise<void> {
    const ending = claimed.end(outcome).then(() => this.#suspensions.ended(claimed.run, claimed.toolkit));
    await noted(claimed, ending);
  }
}

/** What became of a run is written down; where that fails it is logged. */
async function noted({ run, toolkit }: ClaimedRun, writing: Promise<void>): Promise<void> {
  try {
    await writing;
  } catch (error) {
    const message = `What became of the run "${run.id}" of ${run.task.ref} was not kept: ${messageOf(error)}`;
    toolkit.logger.error(message, { error });
  }
}

function turnOf({ turn }: SuspendedRun, outcomes: readonly ToolAnswer[]): WaitingTurn {
  const waiting = turn.waiting.flatMap(({ index, takesControl }, nth) => {
    const answer = outcomes[nth];
    return answer === undefined ? [] : [{ index, takesControl, answer }];
  });
  return { parts: turn.parts, waiting };
}
