import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { messageOf, ToolkitError } from "../core/error.ts";
import { Findings } from "../prompt/lint/lint-findings.ts";
import type { LintReport } from "../prompt/lint/lint-prompts.ts";
import { fileStart } from "../prompt/prompt-problem.ts";
import { FollowedFolder } from "../resource/followed-folder.ts";
import { checkTargets, type TargetToolbox } from "./check-targets.ts";
import { mistakesIn } from "./parse-workflow.ts";
import { WorkflowFolder } from "./workflow-folder.ts";

/** Options of `lintWorkflows`. */
interface LintWorkflowsOptions {
  /** The tools and prompts that steps may name. Without it they are not checked. */
  readonly toolbox?: TargetToolbox | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Finds all mistakes in workflow files, and in those of folders. @throws the reason of an aborted signal */
export async function lintWorkflows(
  paths: readonly string[],
  { toolbox, signal }: LintWorkflowsOptions,
): Promise<LintReport> {
  const findings = new Findings();
  const files: string[] = [];
  for (const path of paths) {
    const contents = new WorkflowFolder(resolve(path));
    const errors: Error[] = [];
    try {
      await new FollowedFolder(contents.folder, contents, { pollMs: 5_000 }).read({ signal });
      errors.push(...contents.problems);
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(error instanceof Error ? error : new Error(messageOf(error)));
    }
    for (const { parsed } of contents.workflows) {
      if (toolbox === undefined) break;
      const mistakes = await checkTargets(parsed, toolbox, signal);
      if (mistakes.length > 0) errors.push(parsed.problem(mistakes));
    }
    files.push(...contents.paths);
    for (const error of errors) await add(error, path, findings);
  }
  return { files, problems: findings.sorted() };
}

async function add(error: Error, path: string, findings: Findings): Promise<void> {
  const { file = path } = ToolkitError.is(error, "INVALID_WORKFLOW") ? error.details : {};
  const mistakes = mistakesIn(error);
  // The lines with mistakes are shown.
  if (mistakes.length > 0) findings.remember(file, await readFile(file, "utf8").catch(() => ""));
  for (const { message, ...place } of mistakes) findings.add("workflow", { file, place, message });
  if (mistakes.length === 0) findings.add("workflow", { file, place: fileStart, message: error.message });
}
