import { ToolkitError } from "../core/error.ts";
import { errorFromJson, errorToJson } from "../core/error-json.ts";
import type { CallContext, Toolbox } from "../core/item.ts";
import type { Content } from "../core/resource.ts";
import type { ServedToolkit } from "../core/served-toolkit.ts";
import { present } from "../lib/value.ts";
import { contentFromJson } from "../resource/from-json.ts";
import { referencesOf } from "../toolset/references.ts";
import type { ToolAnswer } from "../toolset/types.ts";
import type { ResumeOptions } from "./agent.ts";
import { inlinePrompt } from "./inline-prompt.ts";
import { readLimits } from "./options.ts";
import type { Assignment } from "./prepare.ts";
import type { AgentRun } from "./run.ts";
import { pendingRun, type StoredWait, type SuspendedRun, suspendedRun } from "./suspended-run.ts";
import type { ClaimedRun, Suspensions } from "./suspensions.ts";
import type { Task } from "./task.ts";
import type { WaitingTurn } from "./tool-turn.ts";

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
export class Resumption {
  readonly #suspensions: Suspensions;
  readonly #execute: Executor;

  constructor(suspensions: Suspensions, execute: Executor) {
    this.#suspensions = suspensions;
    this.#execute = execute;
  }

  /** See `Agent.resume`. */
  async resume(id: string, options: Resumer): Promise<Content> {
    const found = await this.#suspensions.find(id);
    assertOwner(found.run, options);
    if (found.run.status === "finished") return contentOf(found.run);
    if (options.wait !== true) await this.#assertSettled(found.run, found.toolkit);
    const claimed = await this.#suspensions.claim(id);
    const { run, local, toolkit } = claimed;
    let hasBegun = false;
    const { output = run.task.output } = local ?? {};
    const prompt = inlinePrompt({ name: run.task.name, output }, (_input, context) => {
      hasBegun = true;
      return this.#goOn(claimed, context, options);
    });
    const { toolbox = local?.toolbox ?? toolkit.toolbox, signal, onEvent } = options;
    // Through the call that it was, its session is that of then.
    const session = options.session ?? (toolbox === toolkit.toolbox ? run.session : undefined);
    try {
      return await toolbox.call(prompt, {}, present({ signal, onEvent, session, meta: run.meta }));
    } catch (error) {
      if (!hasBegun) await claimed.release();
      throw error;
    }
  }

  async #goOn(claimed: ClaimedRun, context: CallContext, options: Resumer): Promise<Content> {
    const { run, local } = claimed;
    // A copy, so that what is kept stays as it was.
    const state = structuredClone(run.state);
    const limits = readLimits(run.limits, noLimits);
    const task: Task = {
      ...run.task,
      messages: state.messages,
      ...(local && { ownTools: local.ownTools, output: local.output }),
    };
    const suspend: Assignment["suspend"] = (turn, results) => {
      const { id, isLocal, session, meta } = run;
      const again = suspendedRun({
        task,
        state,
        results,
        turn,
        limits,
        isLocal,
        now: this.#suspensions.now,
        caller: { session, meta },
      });
      return claimed.suspend({ ...again, id });
    };
    let hasActed = false;
    try {
      const outcomes = await Promise.all(
        run.turn.waiting.map((wait) => this.#outcome(wait, claimed, context, options)),
      );
      const known = outcomes.filter(({ status }) => status !== "pending").length;
      const calls = state.calls.length;
      const content = await this.#execute(
        { task, state, limits, results: run.results, suspend },
        context,
        async (agentRun) => {
          try {
            return await agentRun.goOn(turnOf(run, outcomes), outcomes);
          } finally {
            hasActed = known > 0 && state.calls.length > calls;
          }
        },
      );
      await claimed.end({ content: content.toJSON() });
      return content;
    } catch (error) {
      if (ToolkitError.is(error, "PENDING")) throw error;
      // Nothing was done that would be done twice.
      if (hasActed) await claimed.end(ToolkitError.is(error) ? { error: errorToJson(error) } : undefined);
      else await claimed.release();
      throw error;
    }
  }

  /** What a call that the run waits for came to. */
  async #outcome(
    wait: StoredWait,
    { toolkit }: ClaimedRun,
    context: CallContext,
    options: Resumer,
  ): Promise<ToolAnswer> {
    const { callId: id, name, ref } = wait;
    const about = {
      id,
      name,
      ref,
      durationMs: 0,
      debug: { forced: false, exclusive: false, cached: false, attempts: 1 },
    };
    try {
      const content = await this.#contentOf(wait, toolkit, context, options);
      return { ...about, status: "ok", content, references: referencesOf(content) };
    } catch (error) {
      context.signal.throwIfAborted();
      if (!ToolkitError.is(error)) throw error;
      const status = error.code === "DENIED" ? "denied" : error.code === "PENDING" ? "pending" : "failed";
      return { ...about, status, error, references: [] };
    }
  }

  async #contentOf(wait: StoredWait, toolkit: ServedToolkit, context: CallContext, options: Resumer): Promise<Content> {
    const { signal, toolbox } = context;
    if (await this.#suspensions.has(wait.id))
      return this.resume(wait.id, { ...options, signal, toolbox, session: undefined });
    const approval = await toolkit.approvals.get(wait.id);
    if (approval.status !== "pending" || options.wait === true) return toolkit.approvals.wait(wait.id, { signal });
    const { id, reason, message, tool, expiresAt } = approval;
    throw new ToolkitError("PENDING", message, { id, reason, message, tool, arguments: approval.arguments, expiresAt });
  }

  /** @throws ToolkitError `PENDING` where nothing it waits for is settled: then it need not be taken up. */
  async #assertSettled(run: SuspendedRun, { approvals }: ServedToolkit): Promise<void> {
    const waits = await Promise.all(
      run.turn.waiting.map(async ({ id }) => {
        if (await this.#suspensions.has(id)) return false;
        const approval = await approvals.get(id).catch(() => undefined);
        return approval?.status === "pending";
      }),
    );
    if (waits.every((stillWaits) => stillWaits)) throw pendingRun(run);
  }
}

/** What a run came to that another one waits for. */
function contentOf({ outcome }: SuspendedRun): Content {
  if (outcome !== undefined && "content" in outcome) return contentFromJson(outcome.content);
  throw errorFromJson(outcome?.error);
}

/** One principal never learns of the runs of another. */
function assertOwner({ id, session: { principal } }: SuspendedRun, { session }: Resumer): void {
  if (session === undefined || session.principal === principal) return;
  throw new ToolkitError("NOT_FOUND", `There is no suspended run "${id}".`, { key: id, suggestions: [] });
}

function turnOf({ turn }: SuspendedRun, outcomes: readonly ToolAnswer[]): WaitingTurn {
  const waiting = turn.waiting.flatMap(({ index, takesControl }, nth) => {
    const answer = outcomes[nth];
    return answer === undefined ? [] : [{ index, takesControl, answer }];
  });
  return { parts: turn.parts, waiting };
}
