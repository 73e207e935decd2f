import { messageOf, ToolkitError } from "../../core/error.ts";
import type { CallContext, Toolbox } from "../../core/item.ts";
import { continueCall } from "../../core/outer-call.ts";
import type { Content } from "../../core/resource.ts";
import type { Claim } from "../../jobs/claim.ts";
import { present } from "../../lib/value.ts";
import type { ToolAnswer } from "../../toolset/toolset-types.ts";
import type { ResumeOptions } from "../agent.ts";
import { limitNames, readLimits } from "../agent-options.ts";
import type { Assignment } from "../run/prepare-run.ts";
import type { RunState } from "../run/run-state.ts";
import { inlinePrompt, type Task } from "../run/task.ts";
import type { WaitingTurn } from "../run/tool-turn.ts";
import { assertSettled, finishedContent, outcomeOf, untilSettled } from "./collect-outcomes.ts";
import { pendingRun, runConflict, type SuspendedRun, suspendedFields, wayOfRun } from "./suspended-run.ts";
import type { FoundRun, Suspensions } from "./suspensions.ts";

/** Executes what is assigned, in the context of a call. */
type Executor = (assignment: Assignment, context: CallContext) => Promise<Content>;

/** The options by which a run is resumed. */
interface Resumption extends ResumeOptions {
  /** Of the run that waits for this one. */
  readonly toolbox?: Toolbox | undefined;
}

const noLimits = Object.fromEntries(Object.keys(limitNames).map((name) => [name, Number.POSITIVE_INFINITY])) as never;

/** Goes on with runs that were suspended. */
export class ResumeRun {
  readonly #suspensions: Suspensions;
  readonly #execute: Executor;

  constructor(suspensions: Suspensions, execute: Executor) {
    this.#suspensions = suspensions;
    this.#execute = execute;
  }

  /** See `Agent.resume`. */
  async resume(id: string, options: Resumption): Promise<Content> {
    const found = await this.#suspensions.find(id, options.session);
    const { run, jobs, toolkit } = found;
    if (run.status === "finished") return finishedContent(run);
    this.#suspensions.assertClaimable(found);
    if (options.wait === true) await untilSettled(found, options.signal);
    else await assertSettled(found);
    const local = jobs.localOf(id);
    const { output = run.task.output } = local ?? {};
    const resumed = inlinePrompt({ name: run.task.name, output }, (_input, context) => {
      const work = this.#goOn(id, context, options);
      toolkit.hold(work);
      return work;
    });
    // The calls of a run that goes on are those of the prompt it began with.
    const prompt = continueCall(resumed, wayOfRun(run));
    const { toolbox = local?.toolbox ?? toolkit.toolbox, signal, onEvent } = options;
    // Through the call that it was, its session is that of then.
    const session = options.session ?? (toolbox === toolkit.toolbox ? run.session : undefined);
    return toolbox.call(prompt, {}, present({ signal, onEvent, session, meta: run.meta }));
  }

  /** Claims it no sooner than its call has begun, so that nothing can come between that leaves it claimed. */
  async #goOn(id: string, context: CallContext, options: Resumption): Promise<Content> {
    const found = await this.#suspensions.find(id, undefined);
    const { run } = found;
    const claim = await this.#suspensions.claim(found);
    const child = (childId: string, { signal, toolbox }: CallContext) =>
      this.resume(childId, { onEvent: options.onEvent, signal, toolbox });
    // A copy, so that what is kept stays as it was.
    const state = structuredClone(run.state);
    const calls = state.calls.length;
    let isKnown = false;
    try {
      const outcomes = await Promise.all(run.turn.waiting.map((wait) => outcomeOf(wait, found, context, child)));
      isKnown = outcomes.some(({ status }) => status !== "pending");
      const resumed = { turn: turnOf(run, outcomes), outcomes };
      const content = await this.#execute({ ...this.#assignment(found, claim, state), resumed }, context);
      await this.#end(found, () => claim.complete(content));
      return content;
    } catch (error) {
      if (ToolkitError.is(error, "PENDING")) throw error;
      const hasActed = isKnown && state.calls.length > calls;
      if (hasActed) await this.#end(found, () => claim.fail(error));
      // Nothing was done that would be done twice.
      else await noted(found, () => claim.release({ status: "suspended" }));
      throw error;
    }
  }

  /** The rest of a run, from the step it was in. */
  #assignment(found: FoundRun, claim: Claim<SuspendedRun, Content>, state: RunState): Assignment {
    const { run, jobs, toolkit } = found;
    const { id, isLocal } = run;
    const via = wayOfRun(run);
    const limits = readLimits(run.limits, noLimits);
    const { ownTools, output = run.task.output } = jobs.localOf(id) ?? {};
    const task: Task = { ...run.task, messages: state.messages, ownTools, output };
    const suspend: Assignment["suspend"] = async (turn, results) => {
      const { now } = this.#suspensions;
      const waiting = suspendedFields({ task, state, results, turn, limits, isLocal, now, caller: run, via });
      const again = { ...run, ...waiting };
      await this.#suspensions.keep({ ...found, run: again }, () => claim.release(waiting));
      await noted(found, () => this.#suspensions.removeSettled(found, again.turn));
      throw pendingRun(again);
    };
    return { task, state, limits, results: run.results, store: toolkit.store, suspend, lost: claim.lost };
  }

  /** Records its answer or its failure. Where that cannot be done, both stay what they are. */
  async #end(found: FoundRun, end: () => Promise<SuspendedRun | undefined>): Promise<void> {
    await noted(found, async () => {
      if ((await end()) === undefined) throw runConflict(found.run, "another holder has it by now");
      await this.#suspensions.removeSettled(found);
    });
  }
}

/** Records the outcome of a run; a failure of that is logged. */
async function noted({ run, toolkit }: FoundRun, write: () => Promise<unknown>): Promise<void> {
  try {
    await write();
  } catch (error) {
    const message = `The outcome of the run "${run.id}" of ${run.task.ref} was not stored: ${messageOf(error)}`;
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
