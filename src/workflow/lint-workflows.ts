import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { ToolkitError, toError } from "../core/error.ts";
import type { TargetToolbox } from "../core/find-target.ts";
import type { FieldPath } from "../lib/value.ts";
import type { Mistake } from "../lib/written-mistakes.ts";
import { Findings } from "../prompt/lint/lint-findings.ts";
import type { LintReport } from "../prompt/lint/lint-prompts.ts";
import { fileStart, type Place } from "../prompt/prompt-problem.ts";
import { FollowedFolder } from "../resource/followed-folder.ts";
import { checkTargets } from "./check-targets.ts";
import { mistakesIn, problemAt, readWorkflow } from "./parse-workflow.ts";
import { comparedWithEachOther } from "./workflow-files.ts";
import { type PlacedWorkflow, WorkflowFolder } from "./workflow-folder.ts";

/** Options of `lintWorkflows`. */
interface LintWorkflowsOptions {
  /** The tools and prompts that steps may name. Without it they are not checked. */
  readonly toolbox?: TargetToolbox | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Workflows that are written in a file beside other things. */
  readonly written?: WrittenWorkflows | undefined;
}

/** Workflows that were read already, and have no file of their own. */
export interface WrittenWorkflows {
  readonly file: string;
  readonly workflows: readonly { readonly value: unknown; positionOf(path: FieldPath): Place }[];
}

/** Finds all mistakes in workflow files, in those of folders, and in those that are written elsewhere. @throws the reason of an aborted signal */
export async function lintWorkflows(
  paths: readonly string[],
  { toolbox, signal, written }: LintWorkflowsOptions,
): Promise<LintReport> {
  const findings = new Findings();
  const files: string[] = [];
  const placed: PlacedWorkflow[] = [];
  for (const path of paths) {
    const contents = new WorkflowFolder(resolve(path));
    const errors: Error[] = [];
    try {
      await new FollowedFolder(contents.folder, contents, { pollMs: 5_000 }).read({ signal });
      errors.push(...contents.problems);
    } catch (error) {
      signal?.throwIfAborted();
      errors.push(toError(error));
    }
    files.push(...contents.paths);
    placed.push(...contents.workflows);
    for (const error of errors) await add(error, path, findings);
  }
  for (const { value, positionOf } of written?.workflows ?? []) {
    const { file = "" } = written ?? {};
    const problem = (mistakes: readonly Mistake[]) =>
      problemAt(
        file,
        mistakes.map(({ path, message }) => ({ ...positionOf(path), message })),
      );
    files.push(file);
    placed.push({ file, parsed: await readWorkflow(value, { problem }) });
  }
  for (const { file, parsed } of placed) {
    const mistakes = toolbox === undefined ? [] : await checkTargets(parsed, toolbox, signal);
    if (mistakes.length > 0) await add(parsed.problem(mistakes), file, findings);
  }
  for (const error of comparedWithEachOther(placed).problems)
    await add(error, ToolkitError.is(error, "CONFLICT") ? (error.details.owners.at(-1) ?? "") : "", findings);
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
