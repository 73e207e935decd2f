import { ToolkitError } from "../../core/error.ts";
import type { SuspendedRun } from "./suspended-run.ts";

type Named = Pick<SuspendedRun, "id" | "task">;

/** The error for an id that no run has; said of the run of another principal in the same words. */
export function noRun(id: string): ToolkitError<"NOT_FOUND"> {
  const message = `There is no suspended run "${id}". It may have ended, or been forgotten; or its store is another one.`;
  return new ToolkitError("NOT_FOUND", message, { key: id, suggestions: [] });
}

/** The error for a run that cannot go on here, or not now. */
export function runConflict({ id, task }: Named, why: string): ToolkitError<"CONFLICT"> {
  const message = `The run "${id}" of ${task.ref} cannot be resumed here: ${why}.`;
  return new ToolkitError("CONFLICT", message, { key: id, owners: [] });
}

/** The error for a run whose process is gone: nobody knows how far it went. */
export function lostRun({ id, task: { ref } }: Named): ToolkitError<"OUTCOME_UNKNOWN"> {
  const message = `Whoever went on with the run "${id}" of ${ref} is gone. What it did is not known, so it is not repeated: find out, then begin anew; agent.forget("${id}") removes it.`;
  const namespace = ref.slice(0, Math.max(0, ref.indexOf(".")));
  return new ToolkitError("OUTCOME_UNKNOWN", message, { namespace }, { ref });
}

/** The error for a call whose approval, or whose run, is not kept any more. */
export function forgottenCall(ref: string, id: string, cause: unknown): ToolkitError<"OUTCOME_UNKNOWN"> {
  const message = `What became of ${ref} is not known any more: "${id}", for which the run waited, was forgotten. It may have run. Find out before you call it again.`;
  const namespace = ref.slice(0, Math.max(0, ref.indexOf(".")));
  return new ToolkitError("OUTCOME_UNKNOWN", message, { namespace }, { ref, cause });
}
