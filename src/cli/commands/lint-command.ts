import { readdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { ReadConfig } from "../../config/read-config.ts";
import type { FieldPath } from "../../lib/value.ts";
import { visible } from "../../lib/visible-text.ts";
import type { ManifestPlace } from "../../manifest/lint-manifests.ts";
import { formatLint, type LintOptions, type LintReport, lintPrompts } from "../../prompt/lint/lint-prompts.ts";
import { foldersWithPrompts } from "../../prompt/prompt-files.ts";
import type { WrittenWorkflows } from "../../workflow/lint-workflows.ts";
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

/** Everything that a lint checks. */
interface LintTargets {
  readonly prompts: readonly Linted[];
  readonly flows: readonly string[];
  /** The workflows that are written in a configuration. */
  readonly written?: WrittenWorkflows | undefined;
  readonly manifests: readonly ManifestPlace[];
}

/**
 * Prints the problems of prompts, workflow files and manifests: of the paths, else of those of the configuration. With a configuration, or servers, the
 * tools that prompts and workflows name are looked up. @returns the exit code: hints are no problem
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
  const all = paths.map((path) => resolve(cwd, path));
  const { prompts, flows, written, manifests } =
    all.length > 0 ? await targetsAt(all, options) : await targetsOf(config, options);
  const flowCount = flows.length + (written?.workflows.length ?? 0);
  if (prompts.length + flowCount + manifests.length === 0)
    throw new UsageMistake(
      "There is nothing to check: name a file or folder, or write prompts, workflows or manifests into the configuration.",
    );
  const toolbox = workspace?.toolkit;
  const reports: (readonly [LintReport, string])[] = [];
  if (prompts.length > 0) reports.push([await lintAll(prompts, { models: options.model, toolbox, signal }), "prompt"]);
  if (flowCount > 0) {
    const { lintWorkflows } = await import("../../workflow/lint-workflows.ts");
    reports.push([await lintWorkflows(flows, { toolbox, signal, written }), "workflow"]);
  }
  if (manifests.length > 0) {
    const { lintManifests } = await import("../../manifest/lint-manifests.ts");
    const { manifestModes: executors } = await import("../../config/config-parts.ts");
    const sandboxes = (config ?? (await configAbove(cwd)))?.written.sandboxes ?? {};
    const { env } = terminal.streams;
    reports.push([await lintManifests(manifests, { env, sandboxes, executors, toolbox, signal }), "manifest"]);
  }
  const report = joined(reports.map(([each]) => each));
  if (options.json === true) terminal.printJson(report);
  else for (const [each, noun] of reports) terminal.print(formatLint(each, noun));
  for (const { path } of prompts.filter(({ recursive }) => recursive === undefined)) {
    const unread = await foldersWithPrompts(path);
    if (unread.length > 0)
      terminal.note(visible(`${path}: not checked are the folders ${unread.join(", ")}; --recursive checks them.`));
  }
  return report.problems.some(({ severity }) => severity !== "hint") ? exitCodes.failed : exitCodes.ok;
}

/** The workflows of a configuration: their files and folders, and those that are written in it. */
function flowsOf(config: ReadConfig): Pick<LintTargets, "flows" | "written"> {
  const all = (config.written.workflows ?? []).map((value, at) => ({ value, at }));
  return {
    flows: all.flatMap(({ value }) => (typeof value === "string" ? resolve(config.folder, value) : [])),
    written: {
      file: config.file,
      workflows: all
        .filter(({ value }) => typeof value !== "string")
        .map(({ value, at }) => ({
          value,
          positionOf: (path: FieldPath) => config.positionOf(["workflows", at, ...path]),
        })),
    },
  };
}

/** The prompts, workflows and manifests of a configuration. */
async function targetsOf(config: ReadConfig | undefined, options: LintCommandOptions): Promise<LintTargets> {
  if (config === undefined) return { prompts: [], flows: [], manifests: [] };
  const { written, folder: base } = config;
  const { manifestPlaces } = await import("../../config/config-parts.ts");
  const prompts = (written.prompts ?? []).map((each): Linted => {
    const { folder, recursive } = typeof each === "string" ? { folder: each } : each;
    return { path: resolve(base, folder), recursive: options.recursive ?? recursive };
  });
  return { prompts, ...flowsOf(config), manifests: manifestPlaces(config) };
}

/**
 * Paths by what they hold. A file of YAML or JSON is a workflow unless it looks like a manifest. A folder has prompts, unless it has manifests and no
 * markdown.
 */
async function targetsAt(paths: readonly string[], { recursive }: LintCommandOptions): Promise<LintTargets> {
  const prompts: Linted[] = [];
  const flows: string[] = [];
  const manifests: ManifestPlace[] = [];
  for (const path of paths) {
    const isFile = isData(path);
    const names = isFile ? [] : await readdir(path).catch(() => []);
    const isManifest = await hasManifest(isFile ? [path] : names.filter(isData).map((name) => join(path, name)));
    if (isManifest) manifests.push({ path, namespace: "manifest", recursive: recursive ?? false });
    else if (isFile) flows.push(path);
    if (!isFile && (!isManifest || names.some((name) => /\.md$/i.test(name)))) prompts.push({ path, recursive });
  }
  return { prompts, flows, manifests };
}

const isData = (path: string) => /\.(?:ya?ml|json)$/i.test(path);

async function hasManifest(files: readonly string[]): Promise<boolean> {
  if (files.length === 0) return false;
  const { isManifestFile } = await import("../../manifest/lint-manifests.ts");
  for (const file of files) if (await isManifestFile(file)) return true;
  return false;
}

/** Manifests may name the sandboxes of a configuration. */
async function configAbove(folder: string): Promise<ReadConfig | undefined> {
  const { findConfig, readConfig } = await import("../../config/read-config.ts");
  const file = await findConfig(folder);
  return file === undefined ? undefined : await readConfig(file).catch(() => undefined);
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
