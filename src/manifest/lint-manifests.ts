import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { ToolkitError } from "../core/error.ts";
import type { TargetToolbox } from "../core/find-target.ts";
import { readBounded } from "../lib/bounded-file.ts";
import { isRecord, jsonIn } from "../lib/value.ts";
import { Findings } from "../prompt/lint/lint-findings.ts";
import type { LintReport } from "../prompt/lint/lint-prompts.ts";
import { fileStart, problemParts } from "../prompt/prompt-problem.ts";
import { type LoaderParts, ManifestLoader } from "./manifest-loader.ts";
import { ManifestSet } from "./manifest-set.ts";
import { modes } from "./modes.ts";
import { maxManifestBytes } from "./parse-manifest.ts";
import { missingTargets } from "./tool-needs.ts";

/** A file or folder of manifests. */
export interface ManifestPlace {
  readonly path: string;
  readonly namespace: string;
  readonly recursive: boolean;
}

interface LintManifestsOptions extends Omit<LoaderParts, "clients"> {
  readonly signal?: AbortSignal | undefined;
  /** Where the tools are that others call. Without it they are not looked for. */
  readonly toolbox?: TargetToolbox | undefined;
}

/** Finds all mistakes in manifests, by making their tools as a toolkit would. @throws the reason of an aborted signal */
export async function lintManifests(
  places: readonly ManifestPlace[],
  { signal, executors, toolbox, ...parts }: LintManifestsOptions,
): Promise<LintReport> {
  const findings = new Findings();
  const files: string[] = [];
  const loader = new ManifestLoader({ ...parts, executors: { ...modes, ...executors }, clients: {} });
  // Names are unique in a namespace, whichever place they come from.
  for (const group of Map.groupBy(places, ({ namespace, recursive }) => `${namespace} ${recursive}`).values()) {
    const [{ namespace, recursive } = { namespace: "", recursive: false }] = group;
    const paths = group.map(({ path }) => path);
    const set = new ManifestSet({ paths, load: undefined, recursive, pollMs: 5_000, namespace }, loader);
    try {
      await set.read({ signal });
      files.push(...set.paths);
      for (const error of set.problems) await add(error, paths[0], findings);
      const tools = set.namespaces.flatMap((name) => set.toolsOf(name));
      for (const error of toolbox === undefined ? [] : await missingTargets(tools, { toolbox, signal }))
        await add(error, paths[0], findings, "missing-target");
    } finally {
      await set.close();
    }
  }
  return { files, problems: findings.sorted() };
}

async function add(
  error: Error,
  path: string | undefined,
  findings: Findings,
  code: "manifest" | "missing-target" = "manifest",
): Promise<void> {
  if (error.cause instanceof AggregateError && ToolkitError.is(error, "INVALID_MANIFEST")) {
    for (const each of error.cause.errors) await add(each, path, findings);
    return;
  }
  const { what, ...found } = ToolkitError.is(error)
    ? problemParts(error, placeOf(error) ?? path)
    : { what: error.message, file: path, place: fileStart };
  // The line with the mistake is shown.
  if (found.file !== undefined) findings.remember(found.file, await readFile(found.file, "utf8").catch(() => ""));
  const message = what.startsWith(`${found.file}: `) ? what.slice(`${found.file}: `.length) : what;
  findings.add(code, { ...found, message });
}

function placeOf(error: ToolkitError): string | undefined {
  if (ToolkitError.is(error, "CONFLICT")) return error.details.owners.at(-1);
  return ToolkitError.is(error, "NOT_FOUND") ? error.details.key : undefined;
}

/** The fields of a manifest, and of a `spec` alone, that no workflow has. */
const ownFields = "apiVersion|kind|metadata|spec|mode|input_schema|mock_\\w+|http|exec|client|mcp|a2a";
const inYaml = new RegExp(`^["']?(?:${ownFields})["']?[ \\t]*:`, "m");
const isOwn = new RegExp(`^(?:${ownFields})$`);

/** True for a file that is more likely a manifest than a workflow. It may be broken. One that cannot be read is none. */
export async function isManifestFile(path: string): Promise<boolean> {
  const bytes = await readBounded(path, { maxBytes: maxManifestBytes, within: dirname(path) }).catch(() => undefined);
  const text = new TextDecoder().decode(bytes);
  if (!/^\s*\{/.test(text)) return inYaml.test(text) && !/^["']?steps["']?[ \t]*:/m.test(text);
  const value = jsonIn(text);
  if (value === undefined) return /"(?:kind|spec)"\s*:/.test(text);
  return isRecord(value) && !("steps" in value) && Object.keys(value).some((name) => isOwn.test(name));
}
