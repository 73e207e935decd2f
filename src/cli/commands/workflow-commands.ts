import { nearest, orDidYouMean } from "../../lib/similar.ts";
import { visible } from "../../lib/visible-text.ts";
import { type WorkflowRun, workflowRunStatuses } from "../../workflow/stored-run.ts";
import { runningService } from "../control-client.ts";
import type { runActions } from "../control-socket.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import { type ListedRun, runAfter, runsOf } from "../run-requests.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace } from "../workspace.ts";
import { showRun } from "./approval-commands.ts";

/** The options of `workflows`. */
export interface WorkflowsCommandOptions extends GlobalOptions {
  readonly status?: WorkflowRun["status"] | undefined;
  readonly resume?: boolean | undefined;
  readonly cancel?: boolean | undefined;
}

type RunAction = (typeof runActions)[number];

/** The runs of the service that runs, or of the store of the configuration. */
interface KeptRuns extends AsyncDisposable {
  list(status: WorkflowRun["status"] | undefined): Promise<readonly ListedRun[]>;
  after(id: string, action: RunAction): Promise<WorkflowRun>;
}

/** So many steps of a run are shown, or all that have not succeeded. */
const maxSteps = 100;

/** Lists the runs of workflows, or shows one, after it was resumed or cancelled. @returns the exit code: `tool` for a run that has failed */
export async function workflowRuns(
  id: string | undefined,
  options: WorkflowsCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { status, resume = false, cancel = false } = options;
  if (id === undefined && (resume || cancel)) throw new UsageMistake("--resume and --cancel need the id of a run.");
  if (resume && cancel) throw new UsageMistake("A run is resumed or cancelled: give one of --resume and --cancel.");
  if (id !== undefined && status !== undefined) throw new UsageMistake("--status is for the list: leave out the id.");
  if (status !== undefined && !workflowRunStatuses.includes(status))
    throw new UsageMistake(
      `--status is one of ${workflowRunStatuses.join(", ")}, and not ${visible(status)}.${orDidYouMean(nearest(status, workflowRunStatuses))}`,
    );
  await using runs = await keptRuns(options, terminal, signal);
  if (id === undefined) {
    showList(await runs.list(status), options, terminal);
    return exitCodes.ok;
  }
  const run = await runs.after(id, cancel ? "cancel" : resume ? "resume" : "show");
  if (options.json === true) {
    terminal.printJson(run);
    return run.status === "failed" ? exitCodes.tool : exitCodes.ok;
  }
  showSteps(run, terminal);
  // A run that was to be cancelled, and is, is no failure.
  const isFine = (await showRun(run, options, terminal)) || run.status === "cancelled";
  return isFine ? exitCodes.ok : exitCodes.tool;
}

function showList(runs: readonly ListedRun[], options: GlobalOptions, terminal: Terminal): void {
  if (options.json === true) terminal.printJson(runs);
  else if (runs.length === 0) terminal.note("No run of a workflow is kept.");
  else {
    const rows = runs.map(({ id, ref, status, atWork, waitsFor, startedAt }) => {
      const waits = waitsFor.map(({ step, id: approval }) => `${step} (${approval})`).join(", ");
      return [
        id,
        ref,
        status,
        new Date(startedAt).toLocaleString(),
        waits === "" ? atWork.join(", ") : `waits: ${waits}`,
      ];
    });
    terminal.print(terminal.table(["ID", "WORKFLOW", "STATUS", "SINCE", "STEPS"], rows));
  }
}

function showSteps({ steps }: WorkflowRun, terminal: Terminal): void {
  const all = Object.entries(steps);
  const shown = all.length > maxSteps ? all.filter(([, { state }]) => state !== "succeeded") : all;
  const rows = shown.map(([step, { state, startedAt, endedAt, input, error }]) => {
    const took = endedAt === undefined ? "" : `${endedAt - startedAt} ms`;
    return [step, state, new Date(startedAt).toLocaleTimeString(), took, JSON.stringify(error ?? input) ?? ""];
  });
  terminal.print(terminal.table(["STEP", "STATE", "SINCE", "TOOK", "INPUT OR ERROR"], rows));
  const left = all.length - shown.length;
  if (left > 0) terminal.note(visible(`${left} more have succeeded: --json shows all.`));
}

/** @throws UsageMistake where no runs can be kept */
async function keptRuns(options: GlobalOptions, terminal: Terminal, signal: AbortSignal): Promise<KeptRuns> {
  const service = await runningService(options, terminal);
  if (service !== undefined) {
    return {
      list: async (status) => (await service.ask({ method: "workflows", status }, signal)) as readonly ListedRun[],
      after: async (id, action) => (await service.ask({ method: "workflow", id, action }, signal)) as WorkflowRun,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }
  const workspace = await openWorkspace(options, terminal, { lazy: true, signal });
  const { workflows } = workspace;
  if (workspace.config?.written.store !== undefined) {
    return {
      list: (status) => runsOf(workflows, status),
      after: (id, action) => runAfter(workflows, { id, action }, signal),
      [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose](),
    };
  }
  await workspace[Symbol.asyncDispose]();
  throw new UsageMistake(
    "No service of this configuration runs, and it has no store: runs are kept in the service, or in a store that several processes share. Start toolweave serve, or write `store: toolweave.sqlite` into the configuration.",
  );
}
