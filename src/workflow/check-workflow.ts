import { ToolkitError } from "../core/error.ts";
import { toJsonSchema, toObjectSchema } from "../core/schema/json-schema.ts";
import { stepsOf } from "../lib/pointer.ts";
import { didYouMean, nearest } from "../lib/similar.ts";
import { Turns } from "../lib/turns.ts";
import type { FieldPath } from "../lib/value.ts";
import { wayBetween } from "../lib/way-between.ts";
import type { Mistake } from "../lib/written-mistakes.ts";
import { actionNames, defaultElement, type Workflow, type WorkflowStep } from "./workflow-definition.ts";
import { InvalidTemplate, type ParsedTemplate, parseTemplate, referencesOf } from "./workflow-template.ts";

/** The names that the references of a template see. */
export interface TemplateScope {
  /** The steps whose results are there, by id. */
  readonly steps: ReadonlyMap<string, WorkflowStep>;
  /** The element of each `forEach` around it, by its name, with the list and the scope of that. */
  readonly elements: ReadonlyMap<string, { readonly list: ParsedTemplate; readonly scope: TemplateScope }>;
}

/** A template of a workflow, in its place. */
export interface TemplateUse {
  readonly path: FieldPath;
  readonly template: ParsedTemplate;
  readonly scope: TemplateScope;
  /** Undefined for the output of the workflow. */
  readonly step: WorkflowStep | undefined;
  readonly role: "when" | "forEach" | "params" | "prompt" | "output";
}

/** A workflow that was looked through. */
export interface CheckedTemplates {
  readonly uses: readonly TemplateUse[];
  readonly mistakes: readonly Mistake[];
}

/** The most steps of a workflow, and of lists of steps inside each other. */
const maxSteps = 500;
const maxNesting = 16;

/**
 * Looks through a workflow whose form was checked: ids, the work of each step, its schemas, and that each reference names what is there when the step
 * runs. Which tools and prompts there are is another question, see `checkTargets`.
 */
export async function checkTemplates(workflow: Workflow): Promise<CheckedTemplates> {
  const walk = new WorkflowWalk(workflow);
  await walk.run();
  return { uses: walk.uses, mistakes: walk.mistakes };
}

const nowhere: TemplateScope = { steps: new Map(), elements: new Map() };

/** The fields that mean something only beside others. */
const companions: readonly (readonly [field: keyof WorkflowStep, of: readonly (keyof WorkflowStep)[]])[] = [
  ["params", ["tool", "run"]],
  ["prompt", ["model"]],
  ["schema", ["model"]],
  ["otherwise", ["branch"]],
  ["steps", ["forEach"]],
  ["as", ["forEach"]],
  ["concurrency", ["forEach"]],
];

class WorkflowWalk {
  readonly uses: TemplateUse[] = [];
  readonly mistakes: Mistake[] = [];
  readonly #workflow: Workflow;
  /** All steps by id, in the order of the file. */
  readonly #known = new Map<string, WorkflowStep>();
  readonly #turns = new Turns();
  /** The steps that each step refers to. */
  readonly #wanted = new Map<string, Set<string>>();

  constructor(workflow: Workflow) {
    this.#workflow = workflow;
  }

  async run(): Promise<void> {
    const { steps, output, input } = this.#workflow;
    if (input !== undefined) this.#schema(input, ["input"], toObjectSchema);
    if (!this.#names(steps, ["steps"], 1)) return;
    const scope = await this.#list(steps, ["steps"], nowhere);
    if (output !== undefined) await this.#template(output, ["output"], scope, undefined, "output");
    this.#checkReferences();
  }

  /** Notes the ids of all steps. @returns whether there are few enough of them to be looked at */
  #names(steps: readonly WorkflowStep[], path: FieldPath, depth: number): boolean {
    if (depth > maxNesting)
      return this.#refuse(path, `Steps are nested deeper than ${maxNesting} levels: use workflows of their own.`);
    return steps.every((step, at) => {
      const own = [...path, at];
      if (this.#known.has(step.id))
        this.#refuse([...own, "id"], `There are two steps with the id ${step.id}: rename one.`);
      this.#known.set(step.id, step);
      if (this.#known.size > maxSteps)
        return this.#refuse(own, `There are more than ${maxSteps} steps: use forEach, or workflows of their own.`);
      return listsOf(step, own).every((list) => this.#names(list.steps, list.path, depth + 1));
    });
  }

  #refuse(path: FieldPath, message: string): false {
    this.mistakes.push({ path, message });
    return false;
  }

  async #list(steps: readonly WorkflowStep[], path: FieldPath, scope: TemplateScope): Promise<TemplateScope> {
    let seen = scope;
    for (const [at, step] of steps.entries()) {
      await this.#step(step, [...path, at], seen);
      seen = withStep(seen, step);
    }
    return seen;
  }

  async #step(step: WorkflowStep, path: FieldPath, scope: TemplateScope): Promise<void> {
    this.#work(step, path);
    const { when, forEach, fallback, output, params, prompt, schema } = step;
    if (schema !== undefined) this.#schema(schema, [...path, "schema"], toJsonSchema);
    if (when !== undefined) await this.#template(when, [...path, "when"], scope, step, "when");
    let inside = scope;
    if (forEach !== undefined) {
      const list = await this.#template(forEach, [...path, "forEach"], scope, step, "forEach");
      if (list !== undefined) inside = withElement(scope, step.as ?? defaultElement, list);
      if (step.as === "input" || step.as === "steps" || step.as === "index")
        this.#refuse([...path, "as"], `${step.as} is the name of something else in references: choose another one.`);
    }
    if (params !== undefined) await this.#template(params, [...path, "params"], inside, step, "params");
    if (prompt !== undefined) await this.#template(prompt, [...path, "prompt"], inside, step, "prompt");
    for (const [at, way] of (step.branch ?? []).entries())
      await this.#template(way.when, [...path, "branch", at, "when"], inside, step, "when");
    for (const list of listsOf(step, path)) {
      if (list.isParallel)
        for (const [at, child] of list.steps.entries()) await this.#step(child, [...list.path, at], inside);
      else await this.#list(list.steps, list.path, inside);
    }
    if (fallback !== undefined && "value" in fallback)
      await this.#template(fallback.value, [...path, "fallback", "value"], inside, step, "output");
    if (output !== undefined) await this.#template(output, [...path, "output"], withStep(inside, step), step, "output");
  }

  /** A step does one thing, and has no fields that say nothing of it. */
  #work(step: WorkflowStep, path: FieldPath): void {
    const works = actionNames.filter((name) => step[name] !== undefined);
    if (works.length !== 1) {
      const found = works.length === 0 ? "none of them" : works.join(" and ");
      this.#refuse(path, `The step ${step.id} needs exactly one of ${actionNames.join(", ")}, and has ${found}.`);
    } else if (works[0] === "model" && step.prompt === undefined)
      this.#refuse(path, `The step ${step.id} has no prompt: write what the model is asked.`);
    for (const [field, of] of companions)
      if (step[field] !== undefined && of.every((name) => step[name] === undefined))
        this.#refuse([...path, field], `${field} means something only beside ${of.join(" or ")}.`);
  }

  #schema(schema: object, path: FieldPath, parse: typeof toJsonSchema): void {
    try {
      parse(schema, { what: `schema ${path.join(".")}`, direction: "input" });
    } catch (error) {
      if (!ToolkitError.is(error, "INVALID_SCHEMA")) throw error;
      this.#refuse([...path, ...stepsOf(error.details.pointer)], error.message);
    }
  }

  async #template(
    value: unknown,
    path: FieldPath,
    scope: TemplateScope,
    step: WorkflowStep | undefined,
    role: TemplateUse["role"],
  ): Promise<ParsedTemplate | undefined> {
    try {
      const template = await parseTemplate(value, [], this.#turns);
      if ((role === "when" || role === "forEach") && template.kind !== "reference")
        this.#refuse(path, `${role} must be one reference and nothing else: write \${...}.`);
      this.uses.push({ path, template, scope, step, role });
      return template;
    } catch (error) {
      if (!(error instanceof InvalidTemplate)) throw error;
      this.#refuse([...path, ...error.path], `${path.join(".")} ${error.message}.`);
      return undefined;
    }
  }

  #checkReferences(): void {
    const missing: { readonly use: TemplateUse; readonly path: FieldPath; readonly id: string }[] = [];
    for (const use of this.uses) {
      for (const { paths, path } of referencesOf(use.template)) {
        for (const [root = "", id] of paths.read.filter(({ length }) => length <= 2)) {
          const at = [...use.path, ...path];
          if (id === undefined) this.#checkRoot(String(root), at, use);
          else if (root === "steps" && typeof id === "string") {
            this.#want(use.step?.id, id);
            if (!use.scope.steps.has(id)) missing.push({ use, path: at, id });
          }
        }
      }
    }
    for (const { use, path, id } of missing) this.#refuse(path, this.#whyMissing(use, id));
  }

  #checkRoot(root: string, path: FieldPath, { scope }: TemplateUse): void {
    const names = ["input", "steps", ...scope.elements.keys(), ...(scope.elements.size > 0 ? ["index"] : [])];
    if (names.includes(root)) return;
    const near = this.#known.has(root) ? [`steps.${root}`] : nearest(root, names);
    const hint = didYouMean(near, `There are ${names.join(", ")}.`);
    this.#refuse(path, `There is no ${JSON.stringify(root)} to refer to. ${hint}`);
  }

  #want(step: string | undefined, id: string): void {
    if (step === undefined) return;
    const wanted = this.#wanted.get(step) ?? new Set();
    this.#wanted.set(step, wanted.add(id));
  }

  #whyMissing({ scope, step }: TemplateUse, id: string): string {
    if (!this.#known.has(id)) {
      const known =
        scope.steps.size === 0 ? "There is none before this one." : `There are ${[...scope.steps.keys()].join(", ")}.`;
      return `There is no step ${JSON.stringify(id)}. ${didYouMean(nearest(id, scope.steps.keys()), known)}`;
    }
    if (step?.id === id) return `The step ${id} refers to its own result, which is there only in its output.`;
    const cycle = step === undefined ? undefined : wayBetween(id, step.id, (each) => this.#wanted.get(each) ?? []);
    if (step !== undefined && cycle !== undefined)
      return `The steps wait for each other: ${[step.id, ...cycle].join(" needs ")}. Remove one of these references.`;
    const order = [...this.#known.keys()];
    const isLater = step !== undefined && order.indexOf(id) > order.indexOf(step.id);
    if (isLater) return `The step ${id} runs later. Refer to a step before ${step.id}, or move ${id} before it.`;
    return `The result of the step ${id} is not seen here: ${id} is inside of another step, or runs at the same time. Refer to the step around it.`;
  }
}

/** The lists of steps inside of a step, with their places. */
export function listsOf(step: WorkflowStep, path: FieldPath) {
  const lists: { readonly steps: readonly WorkflowStep[]; readonly path: FieldPath; readonly isParallel?: true }[] = [];
  const { branch = [], otherwise, parallel, steps, fallback } = step;
  for (const [at, way] of branch.entries()) lists.push({ steps: way.steps, path: [...path, "branch", at, "steps"] });
  if (otherwise !== undefined) lists.push({ steps: otherwise, path: [...path, "otherwise"] });
  if (parallel !== undefined) lists.push({ steps: parallel, path: [...path, "parallel"], isParallel: true });
  if (steps !== undefined) lists.push({ steps, path: [...path, "steps"] });
  if (fallback !== undefined && !("value" in fallback)) lists.push({ steps: fallback, path: [...path, "fallback"] });
  return lists;
}

function withStep(scope: TemplateScope, step: WorkflowStep): TemplateScope {
  return { ...scope, steps: new Map([...scope.steps, [step.id, step]]) };
}

function withElement(scope: TemplateScope, name: string, list: ParsedTemplate): TemplateScope {
  return { ...scope, elements: new Map([...scope.elements, [name, { list, scope }]]) };
}
