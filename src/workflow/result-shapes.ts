import type { Definition } from "../core/definition.ts";
import type { JsonSchema } from "../core/schema/types.ts";
import type { FieldPath } from "../lib/value.ts";
import { InputShape } from "../prompt/lint/input-shape.ts";
import { eachEntry } from "../prompt/template/template-uses.ts";
import type { TemplateScope } from "./check-workflow.ts";
import { actionOf, type Workflow, type WorkflowStep } from "./workflow-definition.ts";

/** A part that a value does not have by its schema. */
interface AbsentPart {
  readonly name: string;
  /** The names that there are. */
  readonly names: readonly string[];
  /** The value, for messages: `the result of step`. */
  readonly of: string;
}

/** A value as a schema describes it, and the way into it. */
interface DescribedValue {
  readonly shape: InputShape;
  readonly steps: readonly (string | typeof eachEntry)[];
  readonly of: string;
  /** Names that the schema does not have are mistakes, though it does not say that there are no others. */
  readonly isOwn: boolean;
}

/** The values that references read, as schemas describe them: the input, results and elements. */
export class ResultShapes {
  readonly #input: InputShape | undefined;
  readonly #targets: ReadonlyMap<string, Definition>;
  readonly #results = new Map<string, InputShape | undefined>();

  constructor({ input }: Workflow, targets: ReadonlyMap<string, Definition>) {
    this.#input = input && new InputShape(input);
    this.#targets = targets;
  }

  /** The first part of a path that its value does not have; undefined where it may have all. */
  absent(path: FieldPath, scope: TemplateScope): AbsentPart | undefined {
    const found = this.#find(path, scope);
    const end = found?.shape.findUndescribed(found.steps);
    if (found === undefined || end === undefined) return undefined;
    const isMistake = end.isClosed || (found.isOwn && end.steps === 0 && end.names.length > 0);
    if (!isMistake) return undefined;
    const name = found.steps[end.steps];
    return typeof name === "string" ? { name, names: end.names, of: found.of } : undefined;
  }

  /** The types of the value at the end of a path; undefined where they are not known. */
  types(path: FieldPath | undefined, scope: TemplateScope): readonly string[] | undefined {
    if (path?.length === 1 && path[0] === "index" && scope.elements.size > 0) return ["integer"];
    const [root, id, ...rest] = path ?? [];
    const step = root === "steps" && rest.length === 0 ? scope.steps.get(String(id)) : undefined;
    if (step?.forEach !== undefined) return ["array"];
    const found = path && this.#find(path, scope);
    return found?.shape.typesAt(found.steps);
  }

  #find(path: FieldPath, scope: TemplateScope): DescribedValue | undefined {
    const [root, ...rest] = path.map((step) =>
      typeof step === "number" ? (step < 0 ? eachEntry : String(step)) : step,
    );
    if (root === "input") return this.#input && { shape: this.#input, steps: rest, of: "the input", isOwn: true };
    if (root === "steps") return this.#result(rest, scope);
    const element = typeof root === "string" ? scope.elements.get(root) : undefined;
    const list = element?.list.kind === "reference" ? element.list.reference.paths.given : undefined;
    const found = element && list && this.#find(list, element.scope);
    return found && { ...found, steps: [...found.steps, eachEntry, ...rest] };
  }

  #result([id, ...rest]: DescribedValue["steps"], scope: TemplateScope): DescribedValue | undefined {
    const step = typeof id === "string" ? scope.steps.get(id) : undefined;
    return step && this.#ofStep(step, rest);
  }

  #ofStep(step: WorkflowStep, way: DescribedValue["steps"]): DescribedValue | undefined {
    // The result of a forEach is a list of results: the way into one begins with its position.
    if (step.forEach !== undefined && way.length === 0) return undefined;
    const steps = step.forEach === undefined ? way : way.slice(1);
    const child = isReplaced(step) ? undefined : step.parallel?.find(({ id }) => id === steps[0]);
    if (child !== undefined) return this.#ofStep(child, steps.slice(1));
    const shape = this.#shapeOf(step);
    return shape && { shape, steps, of: `the result of ${step.id}`, isOwn: false };
  }

  #shapeOf(step: WorkflowStep): InputShape | undefined {
    if (!this.#results.has(step.id)) {
      const schema = this.#schemaOf(step);
      this.#results.set(step.id, schema && new InputShape(schema));
    }
    return this.#results.get(step.id);
  }

  /** The schema of the result of a step, of an element where it has several; undefined where something else may take its place. */
  #schemaOf(step: WorkflowStep): JsonSchema | undefined {
    if (isReplaced(step)) return undefined;
    const action = actionOf(step);
    switch (action.kind) {
      case "tool":
      case "run":
        return this.#targets.get(step.id)?.output;
      case "model":
        return action.schema ?? { type: "string" };
      case "parallel": {
        const properties = Object.fromEntries(action.steps.map(({ id }) => [id, {}]));
        return { type: "object", properties, additionalProperties: false };
      }
      default:
        return undefined;
    }
  }
}

/** Something else may be the result in place of that of the work itself. */
function isReplaced({ fallback, onError, output }: WorkflowStep): boolean {
  return fallback !== undefined || onError === "continue" || output !== undefined;
}
