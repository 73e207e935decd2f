import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import { Findings, type LintProblem } from "./findings.ts";
import { LintedPartials } from "./folder.ts";
import { lintPrompt } from "./prompt.ts";
import { type LintTarget, openTargets } from "./target.ts";
import { KnownTools, type LintToolbox } from "./tools.ts";

/** What prompts are held against. What is left out is not checked. */
export interface LintOptions {
  /** Has the tools and prompts that `tools` may name: a toolkit, a view, a toolset. */
  readonly toolbox?: LintToolbox | undefined;
  /** The models a prompt may name: `provider/name`, or `provider/*` for all of a provider. */
  readonly models?: readonly string[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

const optionNames: OptionNames<LintOptions> = { toolbox: true, models: true, signal: true };

/** What was found. Plain data: it is written as JSON as it is. */
export interface LintReport {
  /** The prompts that were looked at, in order. */
  readonly files: readonly string[];
  /** By file, then by place. */
  readonly problems: readonly LintProblem[];
}

/**
 * Finds everything that is wrong with prompts, or could be better: fields, schemas, the template, names the input does not have and
 * inputs nothing uses, and, where they are given, tools and models there are not. It never stops at the first problem.
 *
 * @param targets - files, folders (paths or `file:` URLs), and texts
 * @throws ToolkitError `NOT_FOUND` for a path that leads nowhere, `INVALID_CONFIG` for wrong options; the reason of an aborted signal
 *
 * @example
 * ```ts
 * const { problems } = await lintPrompts("prompts", { toolbox: toolkit, models: ["openai/*"] });
 * if (problems.some(({ severity }) => severity === "error")) process.exitCode = 1;
 * ```
 */
export async function lintPrompts(
  targets: LintTarget | readonly LintTarget[],
  options: LintOptions = {},
): Promise<LintReport> {
  assertOptionNames(options, optionNames, "of lintPrompts");
  const { toolbox, models, signal } = options;
  if (models !== undefined && !(Array.isArray(models) && models.every((each) => typeof each === "string"))) {
    throw invalidOption("models", "a list of provider/name", models, "of lintPrompts");
  }
  const tools = toolbox === undefined ? undefined : await KnownTools.of(toolbox, signal);
  const findings = new Findings();
  const files = new Set<string>();
  for (const group of await openTargets([targets].flat(), findings, { signal })) {
    const partials = new LintedPartials(group.shelf, findings);
    const owners = new Map<string, string>();
    for (const prompt of group.prompts) {
      signal?.throwIfAborted();
      const file = prompt.file ?? "prompt";
      files.add(file);
      const name = await lintPrompt(prompt, { findings, partials, tools, models });
      if (name === undefined) continue;
      const owner = owners.get(name);
      if (owner === undefined) owners.set(name, file);
      else {
        const message = `The name ${JSON.stringify(name)} is that of ${owner} too.`;
        const place = { line: 1, column: 1 };
        findings.add("duplicate-name", { file, place, message, hint: "Give one of them another name." });
      }
    }
    for (const file of group.partialFiles.filter((each) => !partials.usedFiles.has(each))) {
      const place = { line: 1, column: 1 };
      const message = "No prompt of the folder uses this partial.";
      findings.add("unused-partial", { file, place, message, hint: "Remove the file, or use it." });
    }
  }
  return { files: [...files], problems: findings.sorted() };
}
