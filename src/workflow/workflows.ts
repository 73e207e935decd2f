import { secretKeyTest } from "../call/trace/secret-keys.ts";
import type { CallContext, Prompt, Tool } from "../core/item.ts";
import { withRunner } from "../core/prompt-runner.ts";
import type { Content } from "../core/resource.ts";
import type { Source, SourceChange } from "../core/source.ts";
import { digest } from "../lib/canonical.ts";
import { systemClock } from "../lib/clock.ts";
import { assertTargets } from "./check-targets.ts";
import { parsedOf } from "./parse-workflow.ts";
import { runWorkflow } from "./run-workflow.ts";
import { MemoryJournal } from "./step-record.ts";
import { contentOf } from "./step-result.ts";
import type { Workflow } from "./workflow-definition.ts";

/** Workflows that may change, such as those of a folder. */
export interface WorkflowSupply {
  /** Those that there are now. */
  list(): readonly Workflow[] | Promise<readonly Workflow[]>;
  /** Calls the listener on every change until the returned function is called. */
  watch?(listener: () => void): () => void;
  /** As those of a Source. */
  problems?(): readonly Error[];
}

/** Workflows as a source of tools and prompts. */
export class Workflows implements Source {
  readonly #supply: WorkflowSupply;
  readonly #namespace = "workflow";

  constructor(supply: readonly Workflow[] | WorkflowSupply) {
    this.#supply = "list" in supply ? supply : { list: () => supply };
  }

  async tool(): Promise<readonly Tool[]> {
    return (await this.#exposed("tool")).map((workflow) => this.#tool(workflow));
  }

  async prompt(): Promise<readonly Prompt[]> {
    return (await this.#exposed("prompt")).map((workflow) => this.#prompt(workflow));
  }

  watch(listener: (change: SourceChange) => void): () => void {
    const changed = () => {
      listener({ kind: "tool" });
      listener({ kind: "prompt" });
    };
    return this.#supply.watch?.(changed) ?? (() => undefined);
  }

  problems(): readonly Error[] {
    return this.#supply.problems?.() ?? [];
  }

  async #exposed(as: "tool" | "prompt"): Promise<readonly Workflow[]> {
    const workflows = await this.#supply.list();
    return workflows.filter(({ expose = "tool" }) => expose === as);
  }

  #tool(workflow: Workflow): Tool {
    return {
      kind: "tool",
      ...described(workflow),
      // Its steps have limits of their own.
      options: { version: digest(workflow), timeoutMs: Number.POSITIVE_INFINITY },
      run: (input, context) => this.#run(workflow, input, context),
    };
  }

  #prompt(workflow: Workflow): Prompt {
    const run = (input: unknown, context: CallContext) => this.#run(workflow, input, context);
    const render: Prompt["render"] = async (input, context) => ({
      messages: [{ role: "user", content: [await run(input, context)] }],
    });
    return withRunner({ kind: "prompt", ...described(workflow), version: digest(workflow), render }, run);
  }

  async #run(workflow: Workflow, input: unknown, context: CallContext): Promise<Content> {
    const { signal } = context;
    await assertTargets(await parsedOf(workflow), context.toolbox, signal);
    const result = await runWorkflow({
      workflow,
      ref: `${this.#namespace}.${workflow.name}`,
      input,
      context,
      signal,
      clock: systemClock,
      journal: new MemoryJournal(),
      approvals: undefined,
      spentMs: 0,
      isSecret: secretKeyTest([]),
      maxResultBytes: 2 ** 20,
      maxRunBytes: 2 ** 23,
    });
    return contentOf(workflow.name, result);
  }
}

function described({ name, title, description, input }: Workflow) {
  return { name, title, description, input: input ?? { type: "object" } };
}

/** A source of workflows. */
export function workflows(supply: readonly Workflow[] | WorkflowSupply): Workflows {
  return new Workflows(supply);
}
