import { resolve } from "node:path";
import { knownProviders, loadProvider } from "../../agent/model/providers.ts";
import type { ReadConfig } from "../../config/read-config.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import type { Entry } from "../../core/item.ts";
import { RefusingRules } from "../../core/name-rules.ts";
import { nearest } from "../../lib/similar.ts";
import { readPrompts } from "../../prompt/read-prompts.ts";
import type { Toolkit } from "../../toolkit/toolkit.ts";

/** A finding: what was looked at, and what to do where it is wrong. */
export interface Finding {
  readonly what: string;
  readonly problem?: string | undefined;
  /** The command, or the change, that mends it. */
  readonly mend?: string | undefined;
  /** The connector that it is about. */
  readonly namespace?: string | undefined;
}

/** The providers of the models that the configuration and its prompts name: whether their package and their key are there. */
export async function modelFindings(config: ReadConfig, signal: AbortSignal): Promise<readonly Finding[]> {
  const { models = {} } = config.written;
  const own = new Set(Object.keys(models.providers ?? {}));
  const named = new Map<string, string>();
  if (models.default !== undefined) named.set(models.default, "models.default");
  for (const { name, model } of await promptsOf(config, signal))
    if (model !== undefined && !named.has(model)) named.set(model, `the prompt ${name}`);
  const byProvider = Map.groupBy(named, ([model]) => model.split("/", 1)[0] ?? model);
  const findings = [...byProvider].map(async ([provider, [first]]): Promise<readonly Finding[]> => {
    const [model = "", place = ""] = first ?? [];
    if (own.has(provider) || !model.includes("/")) return [];
    const what = `the model ${model} of ${place}`;
    if (!knownProviders.includes(provider)) {
      const [near] = nearest(provider, [...own, ...knownProviders], 1);
      const mend = near === undefined ? `write ${provider} with its url under models.providers` : `write ${near}/...`;
      return [{ what, problem: `there is no provider ${provider}`, mend }];
    }
    return [await providerFinding(provider, what)];
  });
  return (await Promise.all(findings)).flat();
}

async function providerFinding(provider: string, what: string): Promise<Finding> {
  try {
    await loadProvider(provider);
    return { what };
  } catch (error) {
    if (ToolkitError.is(error, "MISSING_PEER"))
      return { what, problem: `the package ${error.details.package} is not installed`, mend: error.details.install };
    const [variable] = /\b[A-Z][A-Z0-9_]+_(?:API_KEY|URL)\b/.exec(messageOf(error)) ?? [];
    return { what, problem: messageOf(error), mend: variable === undefined ? undefined : `export ${variable}=...` };
  }
}

/** The prompts that can be read: the others are found by the check of their folder. */
async function promptsOf({ written, folder }: ReadConfig, signal: AbortSignal) {
  const folders = (written.prompts ?? []).map((each) => (typeof each === "string" ? { folder: each } : each));
  const read = folders.map(({ folder: path, recursive = false }) =>
    readPrompts(resolve(folder, path), { recursive, signal }).catch(() => []),
  );
  return (await Promise.all(read)).flat();
}

/** Patterns of `policy` and `settings` that match nothing, where every server is there: elsewhere that is not known. */
export async function patternFindings(
  { written }: ReadConfig,
  toolkit: Toolkit,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const { policy = {}, settings = {} } = written;
  const places = Object.entries({ ...prefixed("policy", policy), settings: Object.keys(settings) });
  if (places.every(([, patterns]) => patterns.length === 0)) return [];
  const { entries, failures } = await toolkit.list({ kind: ["tool", "prompt", "resource", "template"], signal });
  if (failures.length > 0) return [];
  return places.flatMap(([place, patterns]) => unusedOf(place, patterns, entries));
}

function prefixed(name: string, lists: Readonly<Record<string, readonly string[] | undefined>>) {
  return Object.fromEntries(Object.entries(lists).map(([key, patterns]) => [`${name}.${key}`, patterns ?? []]));
}

function unusedOf(place: string, patterns: readonly string[], entries: readonly Entry[]): readonly Finding[] {
  return new RefusingRules(patterns).unused(entries).map((pattern) => {
    const [near] = nearest(
      pattern,
      entries.map(({ ref }) => ref),
      1,
    );
    const mend = near === undefined ? `remove it, or correct it: toolweave list shows all names` : `write ${near}`;
    return { what: `${place}: ${pattern}`, problem: "it matches nothing, and does nothing", mend };
  });
}

/** The manifests of a configuration: each mistake in one, and each tool or agent that one needs and that is not there, with its place. */
export async function manifestFindings(
  { written: { manifests = [] } }: ReadConfig,
  toolkit: Toolkit,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (manifests.length === 0) return [];
  const namespaces = new Set(
    manifests.map((each) => (typeof each === "string" ? undefined : each.namespace) ?? "manifest"),
  );
  const { entries, failures } = await toolkit.list({ kind: "tool", signal });
  const wrong = failures.filter(({ namespace }) => namespaces.has(namespace));
  const { missingTargets, unreachedAgents } = await import("../../manifest/tool-needs.ts");
  const tools = entries.map(({ item }) => item);
  const missing = await missingTargets(tools, { toolbox: toolkit, signal });
  const unreached = await unreachedAgents(tools, signal);
  const problems = [...wrong.map(({ error }) => error), ...missing, ...unreached];
  return problems.length === 0
    ? [{ what: "manifests" }]
    : problems.map(({ message }) => ({ what: "manifests", problem: message }));
}
