import { resolve } from "node:path";
import type { ConfigPath } from "../../config/config-document.ts";
import type { ReadConfig } from "../../config/read-config.ts";
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
 * Prints the problems of prompts and workflow files: of the paths, else of those of the configuration. With a configuration, or servers, the tools that
 * they name are looked up. @returns the exit code: hints are no problem
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
  const isFlow = (path: string) => /\.(?:ya?ml|json)$/i.test(path);
  const prompts = paths.filter((path) => !isFlow(path));
  const given = prompts.map((path): Linted => ({ path: resolve(cwd, path), recursive: options.recursive }));
  const linted = paths.length > 0 ? given : folders;
  const flows = flowsOf(config);
  const named = paths.length > 0 ? paths.filter(isFlow).map((path) => resolve(cwd, path)) : flows.paths;
  const written = paths.length > 0 ? undefined : flows.written;
  if (linted.length + named.length + (written?.workflows.length ?? 0) === 0)
    throw new UsageMistake(
      "There is nothing to check: name a file or folder, or write prompts or workflows into the configuration.",
    );
  const toolbox = workspace?.toolkit;
  const reports: LintReport[] = [];
  if (linted.length > 0) reports.push(await lintAll(linted, { models: options.model, toolbox, signal }));
  if (named.length + (written?.workflows.length ?? 0) > 0) {
    const { lintWorkflows } = await import("../../workflow/lint-workflows.ts");
    reports.push(await lintWorkflows(named, { toolbox, signal, written }));
  }
  const report = joined(reports);
  const nouns = [...(linted.length > 0 ? ["prompt"] : []), "workflow"];
  if (options.json === true) terminal.printJson(report);
  else for (const [at, each] of reports.entries()) terminal.print(formatLint(each, nouns[at]));
  for (const { path } of linted.filter(({ recursive }) => recursive === undefined)) {
    const unread = await foldersWithPrompts(path);
    if (unread.length > 0)
      terminal.note(visible(`${path}: not checked are the folders ${unread.join(", ")}; --recursive checks them.`));
  }
  return report.problems.some(({ severity }) => severity !== "hint") ? exitCodes.failed : exitCodes.ok;
}

/** The workflows of a configuration: their files and folders, and those that are written in it. */
function flowsOf(config: ReadConfig | undefined) {
  const all = (config?.written.workflows ?? []).map((value, at) => ({ value, at }));
  return {
    paths: all.flatMap(({ value }) => (typeof value === "string" ? resolve(config?.folder ?? "", value) : [])),
    written: config && {
      file: config.file,
      workflows: all
        .filter(({ value }) => typeof value !== "string")
        .map(({ value, at }) => ({
          value,
          positionOf: (path: ConfigPath) => config.positionOf(["workflows", at, ...path]),
        })),
    },
  };
}

/** Folders that are checked with those inside them, and those that are not, in one report. */
async function lintAll(linted: readonly Linted[], options: LintOptions): Promise<LintReport> {
  const reports: LintReport[] = [];
  for (const recursive of [false, true]) {
    const paths = linted.filter((each) => (each.recursive ?? false) === recursive).map(({ path }) => path);
    if (paths.length > 0) reports.push(await lintPrompts(paths, { ...options, recursive }));
  }
  return joined(reports);
}

function joined(reports: readonly LintReport[]): LintReport {
  return {
    files: reports.flatMap(({ files }) => files),
    problems: reports.flatMap(({ problems }) => problems),
  };
}
