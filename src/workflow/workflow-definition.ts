import { z } from "zod";
import type { JsonSchema } from "../core/schema/types.ts";
import { isRecord } from "../lib/value.ts";

/*
 * The form of a workflow file. Every description here is shown by editors: docs/reference/workflow.schema.json is made from it.
 */

/**
 * A workflow: steps that run one after the other. It is a plain value, as it is written in its file.
 *
 * Texts may hold references: `${...}` is an expression of JMESPath over `input`, `steps.<id>` (the results of earlier steps), and inside of a
 * `forEach` its element (`item`, or the name given by `as`) and `index`. A text that is one reference and nothing else stands for the value itself;
 * elsewhere the value is put into the text, objects and lists as JSON. `$${` is `${` written out.
 *
 * A reference sees the input, and the results of the steps that ran before it in its own list of steps and in the lists around that one. The steps inside
 * of another step are seen inside of that list alone: outside, that step has one result (see `StepAction`).
 */
export interface Workflow {
  readonly name: string;
  readonly title?: string | undefined;
  readonly description: string;
  /** JSON Schema of an object. Missing, any object is taken. */
  readonly input?: JsonSchema | undefined;
  /** A value with references, which is the result. Default: the result of the last step. */
  readonly output?: unknown;
  /** Default: `tool`. */
  readonly expose?: "tool" | "prompt" | undefined;
  /** The longest time of a run. */
  readonly timeoutMs?: number | undefined;
  readonly steps: readonly WorkflowStep[];
}

/** A step as it is written. It does exactly one of `tool`, `model`, `run`, `branch`, `parallel` and `steps`: `actionOf` says which. */
export interface WorkflowStep {
  /** A letter, then letters, digits and `_`; unique in the file. */
  readonly id: string;
  /** A reference: the step runs where its value is true, as JMESPath means it. Else its result is null. */
  readonly when?: string | undefined;
  /**
   * A reference to a list: the step runs once for each element, and its result is the list of theirs. `fallback`, `onError`, `timeoutMs` and `output`
   * are of each element, `when` is asked once before.
   */
  readonly forEach?: string | undefined;
  /** The name of the element in references. Default: `item`. */
  readonly as?: string | undefined;
  /** The number of elements that are worked on at once. Default 4, at most 64. */
  readonly concurrency?: number | undefined;
  /** Takes the place of a step that fails: steps, of which the last one's result counts, or a value. */
  readonly fallback?: readonly WorkflowStep[] | { readonly value: unknown } | undefined;
  /** With `continue` a failure, of the fallback too, is the result `{ error: { code, message } }`. Default: `fail`. */
  readonly onError?: "fail" | "continue" | undefined;
  readonly timeoutMs?: number | undefined;
  /** A value with references, which later steps see as the result. In it `steps.<id>` is the result of the step itself; not used after a fallback. */
  readonly output?: unknown;

  readonly tool?: string | undefined;
  /** Of `tool` and `run`: a value with references. */
  readonly params?: unknown;
  readonly model?: string | undefined;
  readonly prompt?: string | undefined;
  readonly schema?: JsonSchema | undefined;
  readonly run?: string | undefined;
  readonly branch?: readonly WorkflowBranch[] | undefined;
  readonly otherwise?: readonly WorkflowStep[] | undefined;
  readonly parallel?: readonly WorkflowStep[] | undefined;
  readonly steps?: readonly WorkflowStep[] | undefined;
}

/** One way of a `branch`: the first whose `when` is true is taken. */
export interface WorkflowBranch {
  readonly when: string;
  readonly steps: readonly WorkflowStep[];
}

/** The work of a step. */
export type StepAction =
  /** Calls a tool, by name or ref. */
  | { readonly kind: "tool"; readonly target: string; readonly params: unknown }
  /** Asks a model: `provider/name`, or `default`. A prompt without references gets the results of earlier steps as JSON attachments. */
  | { readonly kind: "model"; readonly model: string; readonly prompt: string; readonly schema: JsonSchema | undefined }
  /** Executes a prompt, by name or ref. */
  | { readonly kind: "run"; readonly target: string; readonly params: unknown }
  /** Its result is that of the last step of the way that is taken; null where none is. */
  | {
      readonly kind: "branch";
      readonly ways: readonly WorkflowBranch[];
      readonly otherwise: readonly WorkflowStep[] | undefined;
    }
  /** All at once. None sees another; the result holds theirs by id. */
  | { readonly kind: "parallel"; readonly steps: readonly WorkflowStep[] }
  /** One after the other, for each element of `forEach`. The result, for an element, is that of the last one. */
  | { readonly kind: "steps"; readonly steps: readonly WorkflowStep[] };

/**
 * Defines a workflow in code: a plain value, of which a copy is kept with each run. It is checked when it is run; `readWorkflow` and
 * `workflowFiles` check one of a file before.
 *
 * @example
 * ```ts
 * const greetAll = defineWorkflow({
 *   name: "greet_all",
 *   description: "Greets everyone.",
 *   steps: [{ id: "greetings", forEach: "${input.names}", tool: "greet", params: { name: "${item}" } }],
 * });
 * ```
 */
export function defineWorkflow(workflow: Workflow): Workflow {
  return structuredClone(workflow);
}

/** The names of the fields that say what a step does. */
export const actionNames = ["tool", "model", "run", "branch", "parallel", "steps"] as const;

/** The most elements of `forEach` that are worked on at once, and their number where a step does not say. */
const maxConcurrency = 64;
export const defaultConcurrency = 4;
/** The name of the element where a step does not say. */
export const defaultElement = "item";

/** The work of a step that was parsed. */
export function actionOf(step: WorkflowStep): StepAction {
  const { tool, model, run, branch, parallel, params, schema } = step;
  if (tool !== undefined) return { kind: "tool", target: tool, params };
  if (model !== undefined) return { kind: "model", model, prompt: step.prompt ?? "", schema };
  if (run !== undefined) return { kind: "run", target: run, params };
  if (branch !== undefined) return { kind: "branch", ways: branch, otherwise: step.otherwise };
  if (parallel !== undefined) return { kind: "parallel", steps: parallel };
  return { kind: "steps", steps: step.steps ?? [] };
}

const milliseconds = z.number().positive("it must be more than 0");
const reference = z.string().min(1);
const jsonSchema = z.record(z.string(), z.unknown());
const steps: z.ZodType<readonly WorkflowStep[]> = z
  .lazy(() => z.array(stepSchema).min(1, "it must have at least one step"))
  .meta({ id: "steps" });

const fallbackValue = z.strictObject({ value: z.unknown().describe("The result in place of that of the step.") });
const branch = z.strictObject({
  when: reference.describe("This way is taken where the value of this ${reference} is true and no earlier one is."),
  steps,
});

const stepSchema = z
  .strictObject({
    id: z
      .string()
      .regex(/^[a-zA-Z][a-zA-Z0-9_]{0,63}$/, "it must be a letter, then up to 63 letters, digits or _")
      .describe("The name of its result: later steps write ${steps.<id>}."),
    when: reference.optional().describe("A ${reference}: the step runs where its value is true."),
    forEach: reference.optional().describe("A ${reference} to a list: the step runs for each element of it."),
    as: z
      .string()
      .regex(/^[a-zA-Z][a-zA-Z0-9_]{0,63}$/, "it must be a letter, then up to 63 letters, digits or _")
      .optional()
      .describe("The name of the element in references. Default: item."),
    concurrency: z
      .int()
      .min(1)
      .max(maxConcurrency)
      .optional()
      .describe("The elements that are worked on at once. Default: 4."),
    fallback: z
      .union([steps, fallbackValue])
      .optional()
      .describe("Steps in place of this one where it fails, or { value }."),
    onError: z
      .enum(["fail", "continue"])
      .optional()
      .describe("With continue, a failure is the result { error: { code, message } }. Default: fail."),
    timeoutMs: milliseconds.optional().describe("The longest time of the step, in milliseconds."),
    output: z.unknown().optional().describe("A value with ${references}, which later steps see as its result."),
    tool: z.string().min(1).optional().describe("Calls a tool: its name, or namespace.name."),
    params: z.unknown().optional().describe("The input of the tool or prompt: a value with ${references}."),
    model: z.string().min(1).optional().describe("Asks a model: provider/name, or default."),
    prompt: z
      .string()
      .min(1)
      .optional()
      .describe("For the model. Without ${references} it gets the results of earlier steps as JSON."),
    schema: jsonSchema.optional().describe("JSON Schema of the model's answer."),
    run: z.string().min(1).optional().describe("Executes a prompt: its name, or namespace.name."),
    branch: z
      .array(branch)
      .min(1, "it must have at least one way")
      .optional()
      .describe("Ways, of which the first one is taken whose when is true."),
    otherwise: steps.optional().describe("The steps that run where no way of branch is taken."),
    parallel: steps.optional().describe("Steps that run at once. The result holds theirs by id."),
    steps: steps.optional().describe("With forEach: the steps that run for each element."),
  })
  .describe("A step. It has exactly one of tool, model, run, branch, parallel and steps.")
  .meta({ id: "step", oneOf: actionNames.map((name) => ({ required: [name] })) }) as z.ZodType<WorkflowStep>;

/** The schema of a workflow file. What a schema of fields cannot say is checked by `parseWorkflow`. */
export const workflowSchema = z.strictObject({
  $schema: z.string().optional().describe("For editors."),
  name: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9_-]{0,63}$/, "it must be a letter, then up to 63 letters, digits, _ or -")
    .describe("The workflow is the tool workflow.<name>."),
  title: z.string().optional(),
  description: z.string().min(1).describe("For models and people who choose a tool."),
  input: jsonSchema.optional().describe("JSON Schema of its input, an object. Default: any object."),
  output: z
    .unknown()
    .optional()
    .describe("The result: a value with ${references}. Default: the result of the last step."),
  expose: z
    .enum(["tool", "prompt"])
    .optional()
    .describe("Whether it is offered as a tool or as a prompt. Default: tool."),
  timeoutMs: milliseconds.optional().describe("The longest time of a run, in milliseconds."),
  steps: steps.describe("They run one after the other."),
});

/** The schema of a workflow file for editors. */
export function workflowEditorSchema(): object {
  return { ...z.toJSONSchema(workflowSchema, { io: "input" }), title: "A workflow of Toolweave" };
}

/**
 * The schema of the result of a workflow, as far as its definition tells: the fields of its `output`, or the schema of a model that surely answers last.
 * Undefined where that is nothing.
 */
export function outputSchemaOf({ output, steps }: Workflow): JsonSchema | undefined {
  if (output !== undefined) return isRecord(output) ? schemaOfValue(output) : undefined;
  const last = steps.at(-1);
  const isReplaced = [last?.when, last?.forEach, last?.fallback, last?.output].some((field) => field !== undefined);
  if (last?.schema === undefined || isReplaced || last.onError === "continue") return undefined;
  return last.schema.type === "object" ? last.schema : undefined;
}

/** The schema of a value with references: of those nothing is known. */
function schemaOfValue(value: unknown): JsonSchema {
  if (typeof value === "string") return value.includes("${") ? {} : { type: "string" };
  if (typeof value === "number" || typeof value === "boolean") return { type: typeof value };
  if (Array.isArray(value)) return { type: "array" };
  if (!isRecord(value)) return {};
  const names = Object.keys(value);
  const properties = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, schemaOfValue(member)]));
  return { type: "object", properties, required: names, additionalProperties: false };
}
