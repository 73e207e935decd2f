import { resolve } from "node:path";
import { ToolkitError } from "../core/error.ts";
import { describePlace } from "../prompt/prompt-problem.ts";
import { readWorkflow, type WorkflowProblem } from "../workflow/parse-workflow.ts";
import type { Workflow } from "../workflow/workflow-definition.ts";
import { workflowFiles } from "../workflow/workflow-files.ts";
import type { WorkflowOptions } from "../workflow/workflow-options.ts";
import { type WorkflowSupply, type Workflows, workflowNamespace, workflows } from "../workflow/workflows.ts";
import type { PlannedTools } from "./config-parts.ts";
import type { ReadConfig } from "./read-config.ts";

/** The workflows of a configuration: one source and delegate, whatever newer versions of the configuration have. */
export class ConfiguredWorkflows {
  /** To be a delegate of the toolkit, so that runs are kept in its store. */
  readonly flows: Workflows;
  #supply: WorkflowSupply = { list: () => [] };

  constructor(options: WorkflowOptions) {
    const supply: WorkflowSupply = {
      list: () => this.#supply.list(),
      watch: (listener) => this.#supply.watch?.(listener) ?? (() => {}),
      problems: () => this.#supply.problems?.() ?? [],
    };
    this.flows = workflows(supply, options);
  }

  /**
   * The workflows that are written in a configuration, and those of its files and folders. They are there from the time at which the source is made.
   *
   * @throws ToolkitError `INVALID_CONFIG` for a workflow that is written in it, with file, line and column
   */
  async planned(config: ReadConfig, { watch }: { readonly watch: boolean }): Promise<PlannedTools> {
    const written = config.written.workflows ?? [];
    const paths = written.flatMap((each) => (typeof each === "string" ? resolve(config.folder, each) : []));
    const inline = await inlineWorkflows(config);
    return {
      namespace: workflowNamespace,
      path: ["workflows"],
      options: [paths, inline],
      mount: (host) => {
        const files = workflowFiles(paths, { watch });
        this.#supply = { ...files, list: async () => [...inline, ...(await files.list())] };
        return host.addSource(workflowNamespace, this.flows);
      },
    };
  }
}

async function inlineWorkflows(config: ReadConfig): Promise<readonly Workflow[]> {
  const found = new Map<string, Workflow>();
  for (const [index, each] of (config.written.workflows ?? []).entries()) {
    if (typeof each === "string") continue;
    const path = ["workflows", index];
    const problem: WorkflowProblem = (mistakes) => {
      const [first, ...others] = mistakes.map((mistake) => config.problem([...path, ...mistake.path], mistake.message));
      const message = [first, ...others].map((error) => error?.message).join("\n");
      return new ToolkitError("INVALID_CONFIG", message, first?.details ?? { path: path.join(".") });
    };
    const place = describePlace(config.file, config.positionOf([...path, "name"]));
    const { workflow } = await readWorkflow(each, { problem, place });
    if (found.has(workflow.name))
      throw config.problem([...path, "name"], `There are two workflows of the name ${workflow.name}. Rename one.`);
    found.set(workflow.name, workflow);
  }
  return [...found.values()];
}
