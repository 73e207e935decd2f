import { ToolkitError } from "../core/error.ts";
import { withinDeadline } from "../core/within-deadline.ts";
import type { Clock } from "../lib/clock.ts";
import { isFalse } from "../lib/json-select/select-value.ts";
import { StepBudget } from "../lib/step-budget.ts";
import { endsRun, failureValue, RunWaits, stepFailed } from "./step-failure.ts";
import type { StepWork } from "./step-work.ts";
import type { OuterAction, PlannedStep, WorkflowPlan } from "./workflow-plan.ts";
import { fillTemplate, type ParsedTemplate } from "./workflow-template.ts";

/** So many steps may the references of one template take: each part of a value that is looked at is one. */
const maxSelection = 2_000_000;
/** The most elements of one `forEach`. */
const maxElements = 10_000;

/** The values that references read. */
export interface StepScope {
  readonly input: unknown;
  readonly steps: Readonly<Record<string, unknown>>;
  /** The elements of the `forEach` around it, and `index`. */
  readonly [element: string]: unknown;
}

/** The place where a step is done. */
interface StepPlace {
  readonly scope: StepScope;
  /** `[n]` for each `forEach` around it. */
  readonly at: string;
  readonly signal: AbortSignal;
}

/** Counts the steps of a run for its caller. */
export interface StepProgress {
  /** So many more are to be done. */
  add(steps: number): void;
  done(step: string, outcome: "done" | "failed" | "skipped"): void;
}

/** The parts of an interpreter. */
export interface StepRunnerOptions {
  readonly plan: WorkflowPlan;
  /** Of the workflow. */
  readonly ref: string;
  readonly work: StepWork;
  readonly progress: StepProgress;
  readonly clock: Clock;
}

/**
 * Runs the steps of a workflow. It decides by the input and the results of steps alone, so that it comes to the same place again where these
 * are known already: a run goes on by being run again, with the results of its finished steps.
 */
export class StepRunner {
  readonly #options: StepRunnerOptions;

  constructor(options: StepRunnerOptions) {
    this.#options = options;
  }

  /**
   * Resolves to the output of the workflow. Nothing that it began runs on after that, or after a rejection.
   *
   * @throws ToolkitError `STEP_FAILED`; RunWaits; RunBroken; the reason of the signal
   */
  async run(input: unknown, signal: AbortSignal): Promise<unknown> {
    const { plan, ref } = this.#options;
    const { last, scope } = await this.#sequence(plan.steps, { scope: { input, steps: {} }, at: "", signal });
    if (plan.output === undefined) return last;
    try {
      return fill(plan.output, scope);
    } catch (error) {
      throw stepFailed(error, { ref, step: "output" });
    }
  }

  /** One after the other. */
  async #sequence(steps: readonly PlannedStep[], place: StepPlace): Promise<{ last: unknown; scope: StepScope }> {
    const results: Record<string, unknown> = { ...place.scope.steps };
    const scope = { ...place.scope, steps: results };
    this.#options.progress.add(steps.length);
    let last: unknown = null;
    for (const step of steps) {
      last = await this.#step(step, { ...place, scope });
      results[step.id] = last;
    }
    return { last, scope };
  }

  async #step(step: PlannedStep, place: StepPlace): Promise<unknown> {
    const { signal, scope, at } = place;
    const { work, progress } = this.#options;
    const { when, each, id } = step;
    signal.throwIfAborted();
    let list: readonly unknown[] | undefined;
    try {
      if (when !== undefined && isFalse(fill(when, scope))) {
        work.note(id + at, "skipped");
        progress.done(id + at, "skipped");
        return null;
      }
      if (each !== undefined) list = listOf(fill(each.list, scope));
    } catch (error) {
      return this.#recover(step, place, error);
    }
    if (each === undefined || list === undefined) return this.#attempt(step, place);
    const elements = list;
    progress.add(elements.length);
    const results = await together(elements.length, each.concurrency, signal, (index, inner) => {
      const within = { ...scope, [each.element]: elements[index], index };
      return this.#attempt(step, { scope: within, at: `${at}[${index}]`, signal: inner });
    });
    progress.done(id + at, "done");
    return results;
  }

  /** Does a step once, for an element where it is done for several. */
  async #attempt(step: PlannedStep, place: StepPlace): Promise<unknown> {
    const { work, progress, clock, ref } = this.#options;
    const { id, timeoutMs, output } = step;
    const { scope, signal } = place;
    const path = id + place.at;
    const limits = { what: `The step ${path} of ${ref}`, limit: "timeoutMs of the step", signal, clock, timeoutMs };
    try {
      const result = await work.observed(path, () =>
        withinDeadline(limits, async (inner) => {
          const raw = await this.#act(step, { ...place, signal: inner });
          return output === undefined ? raw : fill(output, { ...scope, steps: { ...scope.steps, [id]: raw } });
        }),
      );
      progress.done(path, "done");
      return result;
    } catch (error) {
      signal.throwIfAborted();
      if (endsRun(error)) throw error;
      return this.#recover(step, place, error);
    }
  }

  /** Puts something in the place of a step that failed. @throws ToolkitError `STEP_FAILED` where there is nothing; as `run` */
  async #recover(step: PlannedStep, place: StepPlace, error: unknown): Promise<unknown> {
    const { ref, progress } = this.#options;
    const { fallback, continues, id } = step;
    const path = id + place.at;
    let failure = stepFailed(error, { ref, step: path });
    progress.done(path, "failed");
    try {
      if (fallback !== undefined && "value" in fallback) return fill(fallback.value, place.scope);
      if (fallback !== undefined) return (await this.#sequence(fallback.steps, place)).last;
    } catch (again) {
      place.signal.throwIfAborted();
      if (endsRun(again)) throw again;
      failure = stepFailed(again, { ref, step: path });
    }
    if (continues) return failureValue(failure);
    throw failure;
  }

  async #act({ id, action }: PlannedStep, place: StepPlace): Promise<unknown> {
    const { scope, at, signal } = place;
    switch (action.kind) {
      case "branch": {
        const way = action.ways.find(({ when }) => !isFalse(fill(when, scope)));
        return (await this.#sequence(way?.steps ?? action.otherwise, place)).last;
      }
      case "parallel": {
        const { steps } = action;
        this.#options.progress.add(steps.length);
        const results = await together(steps.length, steps.length, signal, async (index, inner) => {
          const step = steps[index];
          return step && this.#step(step, { ...place, signal: inner });
        });
        return Object.fromEntries(steps.map((step, index) => [step.id, results[index]]));
      }
      case "steps":
        return (await this.#sequence(action.steps, place)).last;
      default:
        return this.#options.work.do(id + at, {
          id,
          action,
          signal,
          input: () => fill(templateOf(action), scope),
          earlier: scope.steps,
        });
    }
  }
}

function templateOf(action: OuterAction): ParsedTemplate {
  return action.kind === "model" ? action.prompt : action.params;
}

function fill(template: ParsedTemplate, scope: StepScope): unknown {
  return fillTemplate(template, scope, new StepBudget(maxSelection)) ?? null;
}

/** @throws ToolkitError `INVALID_INPUT`, `LIMIT_EXCEEDED` */
function listOf(value: unknown): readonly unknown[] {
  if (!Array.isArray(value)) {
    const message = `forEach needs a list, and its reference gives ${value === null ? "nothing" : `a value of type ${typeof value}`}.`;
    throw new ToolkitError("INVALID_INPUT", message, { issues: [{ pointer: "", message }] });
  }
  if (value.length <= maxElements) return value;
  const message = `forEach takes ${maxElements} elements at most, and its list has ${value.length}.`;
  throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "forEach", max: maxElements, actual: value.length });
}

/**
 * Does several things at once, so many at a time. After a failure nothing further begins, and what runs is aborted; what waits is left out
 * meanwhile. It settles when all have ended.
 *
 * @throws the failure of the first in order that has one of its own; RunWaits; the reason of the signal
 */
async function together<T>(
  count: number,
  concurrency: number,
  signal: AbortSignal,
  run: (index: number, signal: AbortSignal) => Promise<T>,
): Promise<readonly T[]> {
  const results = new Array<T>(count);
  const failures = new Map<number, unknown>();
  const failed = new AbortController();
  const inner = AbortSignal.any([signal, failed.signal]);
  let waiting: RunWaits | undefined;
  let next = 0;
  const work = async () => {
    while (next < count && !inner.aborted) {
      const index = next++;
      try {
        results[index] = await run(index, inner);
      } catch (error) {
        if (error instanceof RunWaits) waiting ??= error;
        else if (!inner.aborted || error !== inner.reason) failures.set(index, error);
        if (!(error instanceof RunWaits)) failed.abort(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(count, concurrency) }, work));
  signal.throwIfAborted();
  if (failures.size > 0) throw failures.get(Math.min(...failures.keys()));
  if (waiting !== undefined) throw waiting;
  return results;
}
