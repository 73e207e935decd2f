import { secretKeyTest } from "../call/trace/secret-keys.ts";
import type { Delegate } from "../core/delegate.ts";
import { ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { CallContext, Prompt, Tool } from "../core/item.ts";
import { type ItemOrigin, withOrigin } from "../core/item-origin.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import { withRunner } from "../core/prompt-runner.ts";
import type { Content } from "../core/resource.ts";
import type { ServedToolkit } from "../core/served-toolkit.ts";
import type { CallOptions } from "../core/session.ts";
import type { Source, SourceChange } from "../core/source.ts";
import type { ToolAnnotations } from "../core/tool-options.ts";
import { canonicalJson, digest } from "../lib/canonical.ts";
import { systemClock } from "../lib/clock.ts";
import { jsonFault } from "../lib/nesting.ts";
import { assertTargets } from "./check-targets.ts";
import { parsedOf, placeOfWorkflow } from "./parse-workflow.ts";
import { runWorkflow } from "./run-workflow.ts";
import { MemoryJournal } from "./step-record.ts";
import { contentOf } from "./step-result.ts";
import { noRun, type StoredRun, toWorkflowRun, type WorkflowRun } from "./stored-run.ts";
import { annotationsOfAll, unknownAnnotations } from "./workflow-annotations.ts";
import { outputSchemaOf, type Workflow } from "./workflow-definition.ts";
import { type KeptRunLimits, keptRunLimits, type WorkflowOptions } from "./workflow-options.ts";
import { WorkflowRuns } from "./workflow-runs.ts";

/** Workflows that may change, such as those of a folder. */
export interface WorkflowSupply {
  /** Those that there are now. */
  list(): readonly Workflow[] | Promise<readonly Workflow[]>;
  /** Calls the listener on every change until the returned function is called. */
  watch?(listener: () => void): () => void;
  /** As those of a Source. */
  problems?(): readonly Error[];
}

/** Options of looking at runs. With a `session` only those of its principal are there. */
export interface WorkflowRunQuery extends Pick<CallOptions, "session"> {
  readonly status?: WorkflowRun["status"] | undefined;
  /** The name of the workflow. */
  readonly workflow?: string | undefined;
}

/**
 * Workflows, for a toolkit: as a source, which offers each as a tool or prompt, and as a delegate, by which their runs are kept in the
 * toolkit's store. Without the latter a run ends with its call: it cannot wait, and nothing of it is kept.
 */
export interface Workflows extends Source, Delegate {
  tool(): Promise<readonly Tool[]>;
  prompt(): Promise<readonly Prompt[]>;
  /**
   * The runs that are kept, of all processes that share the store, the latest first.
   *
   * @throws ToolkitError `STORE_FAILED`
   */
  runs(query?: WorkflowRunQuery): Promise<readonly WorkflowRun[]>;
  /** @throws ToolkitError `NOT_FOUND`, also for the run of another principal; `STORE_FAILED` */
  get(id: string, options?: Pick<WorkflowRunQuery, "session">): Promise<WorkflowRun>;
  /**
   * Ends a run: the calls of its steps are aborted, and what it waits for is denied.
   *
   * @throws ToolkitError `NOT_FOUND`; `CONFLICT` where it has ended, or another process is at work on it; `STORE_FAILED`
   */
  cancel(id: string, options?: Pick<WorkflowRunQuery, "session">): Promise<void>;
  /**
   * Goes on with a run in this process, where what it waits for is settled or its process is gone. Resolves to the run when it has ended or waits.
   *
   * @throws ToolkitError `NOT_FOUND`; `STORE_FAILED`; `CLOSED`; the reason of the signal
   */
  resume(id: string, options?: Pick<CallOptions, "session" | "signal">): Promise<WorkflowRun>;
}

const queryNames: OptionNames<WorkflowRunQuery> = { session: true, status: true, workflow: true };

/** The levels of an input, as those that a template gives: what writes and reads a record goes through them one inside the other. */
const maxInputDepth = 500;

/** The namespace of workflows. */
export const workflowNamespace = "workflow";

/**
 * Makes workflows known to a toolkit, in the namespace `workflow`.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option out of its range, or an unknown one
 *
 * @example
 * ```ts
 * const flows = workflows([audit]);
 * const toolkit = new Toolkit({ delegate: [flows, agent()], store: sqliteStore({ file: "state.db" }) });
 * toolkit.addSource("workflow", flows);
 * const report = await toolkit.call("workflow.audit", { path: "." });
 * ```
 */
export function workflows(supply: readonly Workflow[] | WorkflowSupply, options: WorkflowOptions = {}): Workflows {
  return new WorkflowSource("list" in supply ? supply : { list: () => supply }, keptRunLimits(options));
}

class WorkflowSource implements Workflows {
  readonly #supply: WorkflowSupply;
  readonly #limits: KeptRunLimits;
  readonly #runs = new Map<ServedToolkit, WorkflowRuns>();
  readonly #listeners = new Set<(change: SourceChange) => void>();
  /** By name, as far as they are known. */
  #annotations: ReadonlyMap<string, ToolAnnotations> = new Map();
  /** The namespaces that were listed. To ask for the tools of another would connect a connector that waits to be needed. */
  readonly #listed = new Set<string>();
  #looking: Promise<void> | undefined;

  constructor(supply: WorkflowSupply, limits: KeptRunLimits) {
    this.#supply = supply;
    this.#limits = limits;
  }

  attach(toolkit: ServedToolkit): void {
    const knows = async (name: string) => (await this.#supply.list()).some((workflow) => workflow.name === name);
    this.#runs.set(toolkit, new WorkflowRuns(toolkit, this.#limits, knows));
    void toolkit.started.then(() => this.#look());
  }

  onEvent(event: ToolkitEvent): void {
    if (event.type !== "toolListChanged" && event.type !== "promptListChanged") return;
    const isNew = !this.#listed.has(event.namespace);
    this.#listed.add(event.namespace);
    if (isNew || event.namespace !== workflowNamespace) void this.#look();
  }

  async tool(): Promise<readonly Tool[]> {
    return (await this.#exposed("tool")).map((workflow) => this.#tool(workflow));
  }

  async prompt(): Promise<readonly Prompt[]> {
    return (await this.#exposed("prompt")).map((workflow) => this.#prompt(workflow));
  }

  watch(listener: (change: SourceChange) => void): () => void {
    const unwatch = this.#supply.watch?.(() => {
      listener({ kind: "tool" });
      listener({ kind: "prompt" });
      void this.#look();
    });
    this.#listeners.add(listener);
    return () => {
      unwatch?.();
      this.#listeners.delete(listener);
    };
  }

  problems(): readonly Error[] {
    return this.#supply.problems?.() ?? [];
  }

  async runs(query: WorkflowRunQuery = {}): Promise<readonly WorkflowRun[]> {
    assertOptionNames(query, queryNames, "of runs");
    const { session, status, workflow } = query;
    const lists = await Promise.all([...this.#runs.values()].map((runs) => runs.list(session)));
    const fits = (run: StoredRun) =>
      (status === undefined || run.status === status) && (workflow === undefined || run.workflow.name === workflow);
    const fitting = lists.flat().filter(fits);
    return fitting
      .sort((one, other) => other.startedAt - one.startedAt || (one.id < other.id ? -1 : 1))
      .map(toWorkflowRun);
  }

  async get(id: string, { session }: Pick<WorkflowRunQuery, "session"> = {}): Promise<WorkflowRun> {
    for (const runs of this.#runs.values()) {
      const run = await runs.find(id, session);
      if (run !== undefined) return toWorkflowRun(run);
    }
    throw noRun(id);
  }

  async cancel(id: string, { session }: Pick<WorkflowRunQuery, "session"> = {}): Promise<void> {
    for (const runs of this.#runs.values())
      if ((await runs.find(id, session)) !== undefined) return runs.cancel(id, session);
    throw noRun(id);
  }

  async resume(id: string, options: Pick<CallOptions, "session" | "signal"> = {}): Promise<WorkflowRun> {
    for (const runs of this.#runs.values()) {
      const run = (await runs.find(id, options.session)) && (await runs.resume(id, options.signal));
      if (run !== undefined) return toWorkflowRun(run);
    }
    throw noRun(id);
  }

  async #exposed(as: "tool" | "prompt"): Promise<readonly Workflow[]> {
    const all = await this.#supply.list();
    return all.filter(({ expose = "tool" }) => expose === as);
  }

  #tool(workflow: Workflow): Tool {
    const tool: Tool = {
      kind: "tool",
      ...described(workflow),
      output: outputSchemaOf(workflow),
      annotations: this.#annotations.get(workflow.name) ?? unknownAnnotations,
      // Its steps have limits of their own.
      options: { version: digest(workflow), timeoutMs: Number.POSITIVE_INFINITY },
      run: (input, context) => this.#run(workflow, input, context),
    };
    return withOrigin(tool, originOf(workflow));
  }

  #prompt(workflow: Workflow): Prompt {
    const run = (input: unknown, context: CallContext) => this.#run(workflow, input, context);
    const render: Prompt["render"] = async (input, context) => {
      await assertRunnable(workflow, context);
      return { messages: [{ role: "user", content: [await this.#inMemory(workflow, input, context)] }] };
    };
    const prompt: Prompt = { kind: "prompt", ...described(workflow), version: digest(workflow), render };
    return withOrigin(withRunner(prompt, run), originOf(workflow));
  }

  async #run(workflow: Workflow, input: unknown, context: CallContext): Promise<Content> {
    const ref = `${workflowNamespace}.${workflow.name}`;
    if (jsonFault(input, maxInputDepth) === "depth") {
      const message = `is nested deeper than ${maxInputDepth} levels`;
      const details = { issues: [{ pointer: "", message }] };
      throw new ToolkitError("INVALID_INPUT", `The input of ${ref} ${message}: make it flatter.`, details, { ref });
    }
    await assertRunnable(workflow, context);
    for (const [toolkit, runs] of this.#runs) {
      if (toolkit.serves(context)) return contentOf("result", await runs.start({ workflow, ref, input, context }));
    }
    return this.#inMemory(workflow, input, context);
  }

  async #inMemory(workflow: Workflow, input: unknown, context: CallContext): Promise<Content> {
    const { maxResultBytes, maxRunBytes } = this.#limits;
    const { signal } = context;
    const journal = new MemoryJournal();
    const ref = `${workflowNamespace}.${workflow.name}`;
    const parts = { workflow, ref, input, context, signal, journal, maxResultBytes, maxRunBytes };
    const isSecret = secretKeyTest([]);
    const done = await runWorkflow({ ...parts, isSecret, clock: systemClock, served: undefined, spentMs: 0 });
    return contentOf("result", done);
  }

  /** Looks again what the steps do, once after all that changes at the same time. */
  #look(): Promise<void> {
    this.#looking ??= Promise.resolve().then(async () => {
      this.#looking = undefined;
      const [toolkit] = this.#runs.keys();
      if (toolkit === undefined || toolkit.closing.aborted) return;
      try {
        await this.#lookIn(toolkit);
      } catch (error) {
        toolkit.logger.warn("The annotations of workflows could not be found.", { error });
      }
    });
    return this.#looking;
  }

  async #lookIn({ toolbox }: ServedToolkit): Promise<void> {
    const all = await this.#supply.list();
    const namespace = [...this.#listed];
    const { entries } = await toolbox.list({ kind: ["tool", "prompt"], namespace });
    const annotations = await annotationsOfAll(all, namespace.length === 0 ? [] : entries, workflowNamespace);
    const isSame = canonicalJson([...annotations]) === canonicalJson([...this.#annotations]);
    this.#annotations = annotations;
    if (!isSame) for (const listener of this.#listeners) listener({ kind: "tool" });
  }
}

/** Compares a workflow with the tools and prompts that its caller sees. @throws ToolkitError `INVALID_WORKFLOW` naming each mistake */
async function assertRunnable(workflow: Workflow, { toolbox, signal }: CallContext): Promise<void> {
  await assertTargets(await parsedOf(workflow), toolbox, signal);
}

function originOf(workflow: Workflow): ItemOrigin {
  return { what: "workflow", place: placeOfWorkflow(workflow) };
}

function described({ name, title, description, input }: Workflow) {
  return { name, title, description, input: input ?? { type: "object" } };
}
