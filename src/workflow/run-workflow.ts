import type { CallContext } from "../core/item.ts";
import { withinDeadline } from "../core/within-deadline.ts";
import { StepRunner } from "./step-runner.ts";
import { StepWork, type StepWorkOptions } from "./step-work.ts";
import type { Workflow } from "./workflow-definition.ts";
import { planOf } from "./workflow-plan.ts";

/** A run, as far as it is known by its caller. */
export interface RunRequest extends StepWorkOptions {
  readonly workflow: Workflow;
  readonly input: unknown;
  readonly signal: AbortSignal;
  /** For how long it has been at work before, in milliseconds. */
  readonly spentMs: number;
}

/**
 * Runs a workflow to its output: from its first step, or with the results that its journal has already.
 *
 * @throws ToolkitError `STEP_FAILED`, `TIMEOUT`; RunWaits; RunBroken; the reason of the signal
 */
export async function runWorkflow(request: RunRequest): Promise<unknown> {
  const { workflow, input, ref, clock, context, signal, spentMs } = request;
  const plan = await planOf(workflow);
  const { timeoutMs = Number.POSITIVE_INFINITY } = workflow;
  const limits = { what: `The run of ${ref}`, limit: "timeoutMs of the workflow", signal, clock };
  const runner = new StepRunner({ plan, ref, clock, work: new StepWork(request), progress: progressOf(context) });
  return withinDeadline({ ...limits, timeoutMs: Math.max(1, timeoutMs - spentMs) }, (inner) =>
    runner.run(input, inner),
  );
}

/** Reports each step that has ended to the caller of the workflow. */
function progressOf(context: CallContext) {
  let total = 0;
  let ended = 0;
  return {
    add: (steps: number) => {
      total += steps;
    },
    done: (step: string, outcome: string) => {
      ended += 1;
      // Whether it was delivered changes nothing.
      context.progress(ended, Math.max(total, ended), `${step}: ${outcome}`).catch(() => undefined);
    },
  };
}
