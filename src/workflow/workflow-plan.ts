import type { JsonSchema } from "../core/schema/types.ts";
import {
  actionOf,
  defaultConcurrency,
  defaultElement,
  type StepAction,
  type Workflow,
  type WorkflowStep,
} from "./workflow-definition.ts";
import { type ParsedTemplate, parseTemplate, referencesOf } from "./workflow-template.ts";

/** A workflow whose references are parsed, so that nothing is parsed while it runs. */
export interface WorkflowPlan {
  readonly workflow: Workflow;
  readonly steps: readonly PlannedStep[];
  /** Undefined where the result is that of the last step. */
  readonly output: ParsedTemplate | undefined;
}

/** A step whose references are parsed. */
export interface PlannedStep {
  readonly id: string;
  readonly when: ParsedTemplate | undefined;
  readonly each: { readonly list: ParsedTemplate; readonly element: string; readonly concurrency: number } | undefined;
  readonly fallback: PlannedFallback | undefined;
  /** A failure is a result. */
  readonly continues: boolean;
  readonly timeoutMs: number;
  readonly output: ParsedTemplate | undefined;
  readonly action: PlannedAction;
}

export type PlannedFallback = { readonly steps: readonly PlannedStep[] } | { readonly value: ParsedTemplate };

/** The work of a step that something outside of the workflow does. */
export type OuterAction =
  | { readonly kind: "tool" | "run"; readonly target: string; readonly params: ParsedTemplate }
  | {
      readonly kind: "model";
      readonly model: string;
      readonly prompt: ParsedTemplate;
      readonly hasReferences: boolean;
      readonly schema: JsonSchema | undefined;
    };

export type PlannedAction =
  | OuterAction
  | {
      readonly kind: "branch";
      readonly ways: readonly { readonly when: ParsedTemplate; readonly steps: readonly PlannedStep[] }[];
      readonly otherwise: readonly PlannedStep[];
    }
  | { readonly kind: "parallel" | "steps"; readonly steps: readonly PlannedStep[] };

const plans = new WeakMap<Workflow, Promise<WorkflowPlan>>();

/** The plan of a workflow, made once. @throws InvalidTemplate */
export function planOf(workflow: Workflow): Promise<WorkflowPlan> {
  const known = plans.get(workflow);
  if (known !== undefined) return known;
  const made = plan(workflow);
  plans.set(workflow, made);
  return made;
}

async function plan(workflow: Workflow): Promise<WorkflowPlan> {
  const { steps, output } = workflow;
  return { workflow, steps: await planSteps(steps), output: await templateOf(output) };
}

async function planSteps(steps: readonly WorkflowStep[]): Promise<readonly PlannedStep[]> {
  return Promise.all(steps.map(planStep));
}

async function planStep(step: WorkflowStep): Promise<PlannedStep> {
  const { id, when, forEach, fallback, output } = step;
  const { as: element = defaultElement, concurrency = defaultConcurrency } = step;
  const { onError, timeoutMs = Number.POSITIVE_INFINITY } = step;
  return {
    id,
    when: await templateOf(when),
    each: forEach === undefined ? undefined : { list: await parseTemplate(forEach), element, concurrency },
    fallback: fallback && (await planFallback(fallback)),
    continues: onError === "continue",
    timeoutMs,
    output: await templateOf(output),
    action: await planAction(actionOf(step)),
  };
}

async function planFallback(fallback: NonNullable<WorkflowStep["fallback"]>): Promise<PlannedFallback> {
  if ("value" in fallback) return { value: await parseTemplate(fallback.value) };
  return { steps: await planSteps(fallback) };
}

async function planAction(action: StepAction): Promise<PlannedAction> {
  switch (action.kind) {
    case "tool":
    case "run":
      return { kind: action.kind, target: action.target, params: await parseTemplate(action.params ?? {}) };
    case "model": {
      const { kind, model, schema } = action;
      const prompt = await parseTemplate(action.prompt);
      return { kind, model, prompt, schema, hasReferences: referencesOf(prompt).length > 0 };
    }
    case "branch": {
      const ways = action.ways.map(async ({ when, steps }) => ({
        when: await parseTemplate(when),
        steps: await planSteps(steps),
      }));
      return { kind: "branch", ways: await Promise.all(ways), otherwise: await planSteps(action.otherwise ?? []) };
    }
    default:
      return { kind: action.kind, steps: await planSteps(action.steps) };
  }
}

async function templateOf(value: unknown): Promise<ParsedTemplate | undefined> {
  return value === undefined ? undefined : parseTemplate(value);
}
