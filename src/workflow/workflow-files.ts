import { resolve } from "node:path";
import { ToolkitError } from "../core/error.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { FieldPath } from "../lib/value.ts";
import { wayBetween } from "../lib/way-between.ts";
import { FollowedFolders } from "../resource/followed-folders.ts";
import { callsOf } from "./check-targets.ts";
import type { ParsedWorkflow } from "./parse-workflow.ts";
import type { Workflow } from "./workflow-definition.ts";
import { type PlacedWorkflow, WorkflowFolder } from "./workflow-folder.ts";
import { type WorkflowSupply, workflowNamespace } from "./workflows.ts";

/** Options of `workflowFiles`. */
export interface WorkflowFilesOptions {
  /** Follow changes of the files. Default: false, they are read once. */
  readonly watch?: boolean | undefined;
  /** The interval of looks beside the events of the file system, in milliseconds, from 100. Default: 5 s. */
  readonly pollMs?: number | undefined;
}

const optionNames: OptionNames<WorkflowFilesOptions> = { watch: true, pollMs: true };
const owner = "of workflow files";

/**
 * The workflows of files and folders, for `workflows`. Of a folder each `*.yaml`, `*.yml` and `*.json` is one whose name does not begin with `.` or `_`;
 * folders inside it are not read, and no link may lead out of it.
 *
 * A broken file stops no other: it keeps its last good version, and is among the problems, with line and column. With `watch` a file that is new,
 * changed or removed takes effect within a fraction of a second.
 *
 * @param paths - files and folders; a relative one counts from the working directory
 * @throws ToolkitError `INVALID_CONFIG` for options that are unknown or out of their range
 *
 * @example
 * ```ts
 * const flows = workflows(workflowFiles("workflows", { watch: true }));
 * toolkit.addSource("workflow", flows);
 * ```
 */
export function workflowFiles(paths: string | readonly string[], options: WorkflowFilesOptions = {}): WorkflowSupply {
  assertOptionNames(options, optionNames, owner);
  const { watch = false, pollMs = 5_000 } = options;
  const all = [paths].flat();
  if (all.some((path) => typeof path !== "string" || path === ""))
    throw invalidOption("paths", "paths of files and folders", paths, owner);
  if (typeof watch !== "boolean") throw invalidOption("watch", "true or false", watch, owner);
  if (typeof pollMs !== "number" || !(pollMs >= 100))
    throw invalidOption("pollMs", "a number of milliseconds from 100", pollMs, owner);
  const files = new WorkflowFiles(all, pollMs);
  return {
    list: () => files.list(),
    problems: () => files.problems,
    ...(watch ? { watch: (listener: () => void) => files.watch(listener) } : {}),
  };
}

/** The workflows of several files and folders. */
class WorkflowFiles {
  readonly #contents: readonly WorkflowFolder[];
  readonly #folders: FollowedFolders;
  #others: readonly Error[] = [];

  constructor(paths: readonly string[], pollMs: number) {
    this.#contents = paths.map((path) => new WorkflowFolder(resolve(path)));
    this.#folders = new FollowedFolders(this.#contents, { pollMs });
  }

  get problems(): readonly Error[] {
    return [...this.#folders.problems, ...this.#others];
  }

  /** Reads what changed. What cannot be read keeps what was known. */
  async list(): Promise<readonly Workflow[]> {
    await this.#folders.read({});
    const { kept, problems } = comparedWithEachOther(this.#contents.flatMap(({ workflows }) => workflows));
    this.#others = problems;
    return kept.map(({ workflow }) => workflow);
  }

  watch(listener: () => void): () => void {
    return this.#folders.watch(listener);
  }
}

/** The workflows that have their names, and the problems that no file has alone: names that two have, and calls without end. */
export function comparedWithEachOther(all: readonly PlacedWorkflow[]) {
  const { kept, conflicts } = oneOfEachName(all);
  return { kept, problems: [...conflicts, ...findCallCycles(kept)] };
}

/** Of two workflows with one name the first keeps it. */
function oneOfEachName(all: readonly PlacedWorkflow[]) {
  const owners = new Map<string, PlacedWorkflow>();
  const conflicts: Error[] = [];
  for (const placed of all) {
    const { name } = placed.parsed.workflow;
    const first = owners.get(name);
    if (first === undefined) owners.set(name, placed);
    else if (first.file !== placed.file) {
      const message = `${placed.file}: The name "${name}" is that of ${first.file} too. Give one of them another name.`;
      conflicts.push(new ToolkitError("CONFLICT", message, { key: name, owners: [first.file, placed.file] }));
    }
  }
  return { kept: [...owners.values()].map(({ parsed }) => parsed), conflicts };
}

/** A call of one workflow by another. */
interface WorkflowCall {
  readonly to: string;
  readonly path: FieldPath;
}

/**
 * The errors of workflows that call themselves, directly or through others: such a run would end at the limit of nested calls. Each cycle is
 * reported once, for the first workflow of it.
 */
function findCallCycles(all: readonly ParsedWorkflow[]): readonly ToolkitError[] {
  const byName = new Map(all.map((parsed) => [parsed.workflow.name, parsed]));
  const calls = new Map(all.map((parsed) => [parsed.workflow.name, callsBetween(parsed, byName)]));
  const reported = new Set<string>();
  const errors: ToolkitError[] = [];
  for (const [name, own] of calls) {
    if (reported.has(name)) continue;
    for (const { to, path } of own) {
      const way = wayBetween(to, name, (each) => (calls.get(each) ?? []).map((call) => call.to));
      if (way === undefined) continue;
      for (const each of way) reported.add(each);
      const message = `Workflows call each other without end: ${[name, ...way].join(" calls ")}. Remove one of these calls.`;
      const problem = byName.get(name)?.problem([{ path, message }]);
      if (problem !== undefined) errors.push(problem);
      break;
    }
  }
  return errors;
}

function callsBetween(
  { workflow }: ParsedWorkflow,
  byName: ReadonlyMap<string, ParsedWorkflow>,
): readonly WorkflowCall[] {
  const prefix = `${workflowNamespace}.`;
  return [...callsOf(workflow.steps, ["steps"])].flatMap(({ step, path }) => {
    const field = step.tool === undefined ? "run" : "tool";
    // A name without a namespace may be that of another tool.
    const target = step[field] ?? "";
    const to = target.startsWith(prefix) ? target.slice(prefix.length) : "";
    const kind = byName.get(to)?.workflow.expose ?? "tool";
    const isCalled = byName.has(to) && (kind === "tool") === (field === "tool");
    return isCalled ? [{ to, path: [...path, field] }] : [];
  });
}
