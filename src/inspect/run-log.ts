import { sum } from "../agent/run/run-state.ts";
import type { AgentEvent, TokenUsage } from "../core/agent-event.ts";
import { ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { present } from "../lib/value.ts";
import { visible } from "../lib/visible-text.ts";
import type { RunCall, RunStep, ShownRun } from "./inspection-face.ts";

/** The most runs that are kept, and the most steps and calls of one. */
const maxRuns = 200;
const maxParts = 500;

interface KeptRun extends Omit<ShownRun, "steps" | "calls" | "usage" | "lastAt" | "status"> {
  lastAt: number;
  status: ShownRun["status"];
  usage: TokenUsage;
  readonly steps: RunStep[];
  readonly calls: RunCall[];
}

const noUsage: TokenUsage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0 };

/** The latest runs of agents: the steps of all, and the tool calls of those that were started from the page. */
export class RunLog {
  readonly #runs = new Map<string, KeptRun>();

  /** The newest first. */
  get runs(): readonly ShownRun[] {
    return [...this.#runs.values()].reverse();
  }

  /** Takes down an answer of a model. */
  step(event: ToolkitEvent<"agentStep">): void {
    const { step, provider, model, finishReason, usage, durationMs, principal } = event;
    const now = Date.now();
    const run = this.#run(event, now - durationMs, principal);
    run.lastAt = now;
    run.status = finishReason === "tool-calls" ? "running" : "finished";
    run.usage = sum(run.usage, usage);
    if (run.steps.length >= maxParts) return;
    const startedAt = now - durationMs;
    run.steps.push({ step, provider, model: visible(model), finishReason, usage, startedAt, durationMs });
  }

  /** Takes down an event of a run that was started from the page. */
  add(event: AgentEvent): void {
    const now = Date.now();
    if (event.type === "toolCall") {
      const run = this.#run(event, now, undefined);
      const { id, name, step } = event;
      if (run.calls.length < maxParts)
        run.calls.push({ id, name: visible(name), step, status: "running", startedAt: now });
    } else if (event.type === "toolResult") {
      const run = this.#run(event, now, undefined);
      const at = run.calls.findLastIndex(({ id }) => id === event.id);
      const call = run.calls[at];
      if (call !== undefined) run.calls[at] = { ...call, status: event.status, durationMs: event.durationMs };
      run.lastAt = now;
    } else if (event.type === "finish") this.#run(event, now, undefined).status = "finished";
  }

  /** Takes down the end of a call: that of a run, where it is the only one of its prompt and principal. */
  ended({ ref, principal, error }: ToolkitEvent<"callFinished">): void {
    const [run, ...others] = [...this.#runs.values()].filter(
      (each) => each.status === "running" && each.ref === visible(ref) && each.principal === principal,
    );
    if (run === undefined || others.length > 0) return;
    run.lastAt = Date.now();
    if (error === undefined) run.status = "finished";
    else run.status = ToolkitError.is(error, "PENDING") ? "waiting" : "failed";
  }

  #run(
    { run, ref, depth }: Pick<AgentEvent, "run" | "ref" | "depth">,
    startedAt: number,
    principal: string | undefined,
  ): KeptRun {
    const known = this.#runs.get(run);
    if (known !== undefined) return known;
    const state = { lastAt: startedAt, status: "running" as const, usage: noUsage, steps: [], calls: [] };
    const made: KeptRun = { run, ref: visible(ref), depth, startedAt, ...present({ principal }), ...state };
    this.#runs.set(run, made);
    for (const oldest of this.#runs.keys()) {
      if (this.#runs.size <= maxRuns) break;
      this.#runs.delete(oldest);
    }
    return made;
  }
}
