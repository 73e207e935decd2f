import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import { type PromptLimits, readPromptLimits } from "../../core/prompt-limits.ts";
import { assertRecursive } from "../prompt-files.ts";
import { fileStart } from "../prompt-problem.ts";
import { Findings, type LintProblem } from "./lint-findings.ts";
import { LintedPartials } from "./lint-partials.ts";
import { type LintToolbox, listKnownTools } from "./lint-references.ts";
import { type LintTarget, openTargets } from "./lint-target.ts";
import { lintPrompt } from "./lint-text.ts";

/** The tools and models that prompts may name. Those that are left out are not checked. */
export interface LintOptions {
  /** The tools and prompts that `tools` may name: a toolkit, a view, a toolset. */
  readonly toolbox?: LintToolbox | undefined;
  /** The models a prompt may name: `provider/name`, or `provider/*` for all of a provider. */
  readonly models?: readonly string[] | undefined;
  /** Check the folders inside a folder too, as `readPrompts` reads them with `recursive`. Default false. */
  readonly recursive?: boolean | undefined;
  /** The size of each file. */
  readonly limits?: PromptLimits | undefined;
  readonly signal?: AbortSignal | undefined;
}

const optionNames: OptionNames<LintOptions> = {
  toolbox: true,
  models: true,
  recursive: true,
  limits: true,
  signal: true,
};

/** The result of lint. Plain data: it can be written as JSON. */
export interface LintReport {
  /** The prompts that were checked, in order. */
  readonly files: readonly string[];
  /** By file, then by place. */
  readonly problems: readonly LintProblem[];
}

/**
 * Finds all mistakes in prompts, and possible improvements: fields, schemas, the template, names that the input does not have,
 * properties that are not used, and unknown tools and models, where those are given. It never stops at the first problem.
 *
 * @param targets - files, folders (paths or `file:` URLs), and texts
 * @throws ToolkitError `NOT_FOUND` for a missing file or folder, `INVALID_CONFIG` for wrong options; the reason of an aborted signal
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
  const { toolbox, models, recursive, signal } = options;
  if (models !== undefined && !(Array.isArray(models) && models.every((each) => typeof each === "string"))) {
    throw invalidOption("models", "a list of provider/name", models, "of lintPrompts");
  }
  assertRecursive(recursive, "of lintPrompts");
  const limits = readPromptLimits(options.limits, "limits");
  const tools = toolbox === undefined ? undefined : await listKnownTools(toolbox, signal);
  const findings = new Findings();
  const files = new Set<string>();
  for (const group of await openTargets([targets].flat(), findings, { signal, limits, recursive })) {
    const partials = new LintedPartials(group.finder, findings, limits);
    const { owners } = group;
    for (const prompt of group.prompts) {
      signal?.throwIfAborted();
      const file = prompt.file ?? "prompt";
      files.add(file);
      const name = await lintPrompt(prompt, { findings, partials, tools, models, limits });
      if (name === undefined) continue;
      const owner = owners.get(name);
      if (owner === undefined) owners.set(name, file);
      else {
        const message = `The name ${JSON.stringify(name)} is that of ${owner} too.`;
        const hint = "Give one of them another name.";
        findings.add("duplicate-name", { file, place: fileStart, message, hint });
      }
    }
    for (const file of group.partialFiles.filter((each) => !partials.usedFiles.has(each))) {
      const message = "No prompt of the folder uses this partial.";
      findings.add("unused-partial", { file, place: fileStart, message, hint: "Remove the file, or use it." });
    }
  }
  return { files: [...files], problems: findings.sorted() };
}

/**
 * Formats a report for people: each problem with its place, its line and a mark under it, then a count.
 *
 * @example
 * ```ts
 * console.log(formatLint(await lintPrompts("prompts")));
 * ```
 */
export function formatLint({ files, problems }: LintReport, what = "prompt"): string {
  const counts = (["error", "warning", "hint"] as const)
    .map((severity) => [severity, problems.filter((problem) => problem.severity === severity).length] as const)
    .filter(([, count]) => count > 0)
    .map(([severity, count]) => plural(count, severity));
  const outcome = counts.length === 0 ? "no problem" : counts.join(", ");
  return `${[...problems.map(formatProblem), `${plural(files.length, what)}: ${outcome}.`].join("\n\n")}\n`;
}

function formatProblem({ file, line, column, severity, code, message, hint, source }: LintProblem): string {
  const number = String(line);
  const gutter = " ".repeat(number.length);
  const { text, offset, length } = excerptOf(source, column);
  const mark = `${gutter} | ${text.slice(0, offset).replace(/[^\t]/g, " ")}${"^".repeat(length)}`;
  const lines = source.trim() === "" ? [] : [`${number} | ${text}`, mark];
  const help = hint === undefined ? [] : [`${gutter} = ${hint}`];
  return [`${file}:${line}:${column}: ${severity}: ${message} [${code}]`, ...lines, ...help].join("\n");
}

const plural = (count: number, what: string) => `${count} ${what}${count === 1 ? "" : "s"}`;

const maxWidth = 110;
const maxLead = 40;

/** The part of a line around a column, with the length of the word there. */
function excerptOf(source: string, column: number): { text: string; offset: number; length: number } {
  const start = source.length > maxWidth && column > maxWidth - maxLead ? column - 1 - maxLead : 0;
  const before = start === 0 ? "" : "...";
  const rest = source.slice(start);
  const text = `${before}${rest.length > maxWidth ? `${rest.slice(0, maxWidth)}...` : rest}`;
  const offset = Math.min(column - 1 - start + before.length, text.length);
  const word = /^(?:\{\{[^}]*\}\}|[\w$@./*-]+)/.exec(text.slice(offset))?.[0] ?? "";
  return { text, offset, length: Math.max(1, word.length) };
}
