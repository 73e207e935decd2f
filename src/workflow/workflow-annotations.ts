import { definitionOf } from "../core/entry.ts";
import type { Entry } from "../core/item.ts";
import type { ToolAnnotations } from "../core/tool-options.ts";
import { actionOf, type Workflow, type WorkflowStep } from "./workflow-definition.ts";

/** The hints of a workflow of which it is not known what its steps do. */
export const unknownAnnotations: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

/** The hints of a tool or prompt that a step names; undefined for one that is not there. */
type KnownAction = (kind: "tool" | "run", target: string) => Promise<ToolAnnotations | undefined>;

/** A model is asked: that changes nothing, and the model may be anywhere. */
const asking: ToolAnnotations = { readOnlyHint: true, destructiveHint: false, openWorldHint: true };

/**
 * The hints of a workflow: never safer than those of any of its steps. It is idempotent only where it is read-only: steps that are, each for the
 * same input, need not be together, as what one reads another may write.
 */
async function annotationsOf(workflow: Workflow, known: KnownAction): Promise<ToolAnnotations> {
  const found = await Promise.all(
    [...actionsOf(workflow.steps)].map(([name, { kind, target }]) =>
      name === "model" || target === undefined ? asking : known(kind, target),
    ),
  );
  const hints = found.map((each) => each ?? unknownAnnotations);
  const readOnlyHint = hints.every((each) => each.readOnlyHint === true);
  return {
    readOnlyHint,
    destructiveHint:
      !readOnlyHint && hints.some((each) => each.readOnlyHint !== true && each.destructiveHint !== false),
    idempotentHint: readOnlyHint,
    openWorldHint: hints.some((each) => each.openWorldHint !== false),
  };
}

interface NamedAction {
  readonly kind: "tool" | "run";
  readonly target: string | undefined;
}

/** The actions of the steps of a list, of those inside of others too, each once. */
function actionsOf(steps: readonly WorkflowStep[], into = new Map<string, NamedAction>()): Map<string, NamedAction> {
  for (const step of steps) {
    const action = actionOf(step);
    if (step.fallback !== undefined && !("value" in step.fallback)) actionsOf(step.fallback, into);
    switch (action.kind) {
      case "tool":
      case "run":
        into.set(`${action.kind} ${action.target}`, action);
        break;
      case "model":
        into.set("model", { kind: "run", target: undefined });
        break;
      case "branch":
        for (const way of action.ways) actionsOf(way.steps, into);
        actionsOf(action.otherwise ?? [], into);
        break;
      default:
        actionsOf(action.steps, into);
    }
  }
  return into;
}

type Callable = Entry<"tool" | "prompt">;

/**
 * The hints of several workflows, by name, by what is known of the tools and prompts that they name. A bare name is known where one entry alone
 * has it.
 *
 * @param namespace - that of the workflows, which may name each other
 */
export async function annotationsOfAll(
  all: readonly Workflow[],
  entries: readonly Callable[],
  namespace: string,
): Promise<ReadonlyMap<string, ToolAnnotations>> {
  const byRef = new Map(all.map((workflow) => [`${namespace}.${workflow.name}`, workflow]));
  const byTarget = new Map<string, Callable | undefined>();
  for (const entry of entries) {
    const bare = `${entry.kind} ${entry.name}`;
    byTarget.set(bare, byTarget.has(bare) ? undefined : entry);
    byTarget.set(`${entry.kind} ${entry.ref}`, entry);
  }
  const of = (workflow: Workflow, around: readonly Workflow[]): Promise<ToolAnnotations> => {
    // One that is inside of itself never ends well: it is not safe.
    if (around.includes(workflow)) return Promise.resolve(unknownAnnotations);
    return annotationsOf(workflow, async (kind, target) => {
      const entry = byTarget.get(`${kind === "tool" ? "tool" : "prompt"} ${target}`);
      const inner = entry && byRef.get(entry.ref);
      if (inner !== undefined) return of(inner, [...around, workflow]);
      return entry && hintsOf(entry);
    });
  };
  const annotations = new Map<string, ToolAnnotations>();
  for (const workflow of all) annotations.set(workflow.name, await of(workflow, []));
  return annotations;
}

function hintsOf(entry: Callable): ToolAnnotations | undefined {
  if (entry.kind === "tool") return definitionOf(entry).annotations;
  // A model with tools may do whatever these do.
  return (entry.item.tools ?? []).length === 0 ? asking : undefined;
}
