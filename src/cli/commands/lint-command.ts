import { resolve } from "node:path";
import { formatLint, lintPrompts } from "../../prompt/lint/lint-prompts.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace } from "../workspace.ts";

/** The options of `lint`. */
export interface LintCommandOptions extends GlobalOptions {
  readonly model?: readonly string[] | undefined;
}

/**
 * Prints the problems of prompts: of the paths, else of the folders of the configuration. With a configuration, or servers, the tools that
 * prompts name are looked up. @returns the exit code: hints are no problem
 */
export async function lint(
  paths: readonly string[],
  options: LintCommandOptions,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<number> {
  const { cwd } = terminal.streams;
  const isAlone = paths.length > 0 && options.config === undefined && options.server === undefined;
  await using workspace = isAlone ? undefined : await openWorkspace(options, terminal, { signal });
  const config = workspace?.config;
  const folders = (config?.written.prompts ?? []).map((each) =>
    resolve(config?.folder ?? cwd, typeof each === "string" ? each : each.folder),
  );
  const linted = paths.length > 0 ? paths.map((path) => resolve(cwd, path)) : folders;
  if (linted.length === 0)
    throw new UsageMistake(
      "There is nothing to check: name a file or folder, or write prompts into the configuration.",
    );
  const report = await lintPrompts(linted, { models: options.model, toolbox: workspace?.toolkit, signal });
  if (options.json === true) terminal.printJson(report);
  else terminal.print(formatLint(report));
  return report.problems.some(({ severity }) => severity !== "hint") ? exitCodes.failed : exitCodes.ok;
}
