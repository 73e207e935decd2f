import { noRun, type WorkflowRun } from "../workflow/stored-run.ts";
import type { Workflows } from "../workflow/workflows.ts";
import type { ControlRequest } from "./control-socket.ts";

/** A run in a list: without its steps, which may be thousands. */
export interface ListedRun extends Omit<WorkflowRun, "workflow" | "input" | "steps" | "result" | "error" | "isLocal"> {
  /** The steps that have begun and not ended. */
  readonly atWork: readonly string[];
}

/** The runs that are kept, the latest first. */
export async function runsOf(
  flows: Workflows | undefined,
  status: WorkflowRun["status"] | undefined,
): Promise<readonly ListedRun[]> {
  return ((await flows?.runs({ status })) ?? []).map((run) => {
    const { id, ref, status: now, waitsFor, startedAt, endedAt, principal, steps } = run;
    const open = Object.entries(steps).filter(([, { state }]) => state === "running" || state === "waiting");
    return { id, ref, status: now, atWork: open.map(([step]) => step), waitsFor, startedAt, endedAt, principal };
  });
}

/**
 * A run after something was done with it.
 *
 * @throws ToolkitError `NOT_FOUND`; `CONFLICT` for one that cannot be cancelled
 */
export async function runAfter(
  flows: Workflows | undefined,
  { id, action }: Pick<Extract<ControlRequest, { method: "workflow" }>, "id" | "action">,
  signal: AbortSignal,
): Promise<WorkflowRun> {
  if (flows === undefined) throw noRun(id);
  if (action === "resume") return flows.resume(id, { signal });
  if (action === "show") return flows.get(id);
  await flows.cancel(id);
  // One that is at work has ended once its steps have.
  return flows.resume(id, { signal });
}
