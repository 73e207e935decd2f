import { resolve } from "node:path";
import { visible } from "../../lib/visible-text.ts";
import { formatLint, type LintOptions, type LintReport, lintPrompts } from "../../prompt/lint/lint-prompts.ts";
import { foldersWithPrompts } from "../../prompt/prompt-files.ts";
import { exitCodes, UsageMistake } from "../exit-code.ts";
import type { Terminal } from "../terminal.ts";
import { type GlobalOptions, openWorkspace } from "../workspace.ts";

/** The options of `lint`. */
export interface LintCommandOptions extends GlobalOptions {
  readonly model?: readonly string[] | undefined;
  readonly recursive?: boolean | undefined;
}

/** A file or folder that is checked. */
interface Linted {
  readonly path: string;
  /** The folders inside it are checked too. Undefined is `false` by default, and those that are left out are named. */
  readonly recursive: boolean | undefined;
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
  const folders = (config?.written.prompts ?? []).map((each): Linted => {
    const { folder, recursive } = typeof each === "string" ? { folder: each } : each;
    return { path: resolve(config?.folder ?? cwd, folder), recursive: options.recursive ?? recursive };
  });
  const given = paths.map((path): Linted => ({ path: resolve(cwd, path), recursive: options.recursive }));
  const linted = given.length > 0 ? given : folders;
  if (linted.length === 0)
    throw new UsageMistake(
      "There is nothing to check: name a file or folder, or write prompts into the configuration.",
    );
  const report = await lintAll(linted, { models: options.model, toolbox: workspace?.toolkit, signal });
  if (options.json === true) terminal.printJson(report);
  else terminal.print(formatLint(report));
  for (const { path } of linted.filter(({ recursive }) => recursive === undefined)) {
    const unread = await foldersWithPrompts(path);
    if (unread.length > 0)
      terminal.note(visible(`${path}: not checked are the folders ${unread.join(", ")}; --recursive checks them.`));
  }
  return report.problems.some(({ severity }) => severity !== "hint") ? exitCodes.failed : exitCodes.ok;
}

/** Folders that are checked with those inside them, and those that are not, in one report. */
async function lintAll(linted: readonly Linted[], options: LintOptions): Promise<LintReport> {
  const reports: LintReport[] = [];
  for (const recursive of [false, true]) {
    const paths = linted.filter((each) => (each.recursive ?? false) === recursive).map(({ path }) => path);
    if (paths.length > 0) reports.push(await lintPrompts(paths, { ...options, recursive }));
  }
  return {
    files: reports.flatMap(({ files }) => files),
    problems: reports.flatMap(({ problems }) => problems),
  };
}
