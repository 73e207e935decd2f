import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { agent, type ModelsOptions } from "../agent/index.ts";
import { ToolkitError } from "../core/error.ts";
import { toIdentifier } from "../core/identifier.ts";
import type { Resource } from "../core/resource.ts";
import type { Source } from "../core/source.ts";
import type { Store } from "../core/store.ts";
import type { ToolkitOptions } from "../core/toolkit-options.ts";
import { type FieldPath, present } from "../lib/value.ts";
import type { Environment } from "../lib/variables.ts";
import type { ManifestOptions } from "../manifest/index.ts";
import type { OpenPage } from "../mcp/auth/oauth-options.ts";
import { expand } from "../mcp/target/target-values.ts";
import { defineResource } from "../resource/define.ts";
import { readSource } from "../resource/read.ts";
import type { PackHost } from "../tool-packs/pack.ts";
import type { WrittenConfig } from "./config-schema.ts";
import type { ReadConfig } from "./read-config.ts";

/** The parts of a toolkit that a configuration does not say. */
export interface ConfiguredOptions {
  /** Where `${VAR}` is read from. Default: the environment of the process. */
  readonly env?: Environment | undefined;
  /** Connect each connector when it is first needed. Default: as it is written. */
  readonly lazy?: boolean | undefined;
  /** Follow the folders of prompts. Default false. */
  readonly watch?: boolean | undefined;
  /** Go on with runs of workflows that began in other processes. Default true. */
  readonly takeOver?: boolean | undefined;
  /** Shows a person the page of a login. Missing, tokens that are kept are used, and nobody is asked. */
  readonly openPage?: OpenPage | undefined;
  /** Models beside those of the configuration, by `provider/name`. */
  readonly models?: ModelsOptions["models"];
  /** Options of the toolkit beside those of the configuration; a delegate here is asked first. */
  readonly toolkit?: ToolkitOptions | undefined;
}

/** Runs a part that throws a ToolkitError of its own, and says in the file's words where the cause is written. */
export function placed<T>(config: ReadConfig, path: FieldPath, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!ToolkitError.is(error)) throw error;
    throw config.problem(path, `${path.join(".")}: ${error.message}`);
  }
}

export async function readOptions(
  config: ReadConfig,
  env: Environment,
  { toolkit: given = {}, models: others }: Pick<ConfiguredOptions, "toolkit" | "models">,
): Promise<ToolkitOptions> {
  const { policy = {}, settings = {}, store, timeoutMs, models, egress, connectors = {} } = config.written;
  const asks = Object.fromEntries((policy.ask ?? []).map((rule) => [rule, { needsApproval: true }]));
  const { delegate = [] } = given;
  const pinned = Object.values(connectors).some((each) => typeof each !== "string" && each.pins !== undefined);
  return {
    policy: { ...(policy.allow && { allow: policy.allow }), ...(policy.block && { block: policy.block }) },
    settings: { ...settings, ...asks },
    delegate: [...[delegate].flat(), placed(config, ["models"], () => agentOf(config, models ?? {}, env, others))],
    ...present({ timeoutMs, egress }),
    ...(pinned ? { pins: { file: resolve(config.folder, "toolweave.lock") } } : {}),
    ...(store === undefined ? {} : { store: await storeAt(config, store, env) }),
  };
}

function agentOf(
  config: ReadConfig,
  models: NonNullable<WrittenConfig["models"]>,
  env: Environment,
  others: ModelsOptions["models"],
) {
  const servers = Object.entries(models.providers ?? {}).map(([name, { url, api, apiKey, headers = {} }]) => {
    const field = (key: string, text: string) => expanded(config, ["models", "providers", name, key], text, env);
    const sent = Object.entries(headers).map(([header, value]) => [header, field("headers", value)]);
    const key = apiKey === undefined ? {} : { apiKey: field("apiKey", apiKey) };
    const form = api === undefined ? {} : { api };
    return [name, { url: field("url", url), headers: Object.fromEntries(sent), ...form, ...key }] as const;
  });
  return agent({ models: { ...Object.fromEntries(servers), ...others }, defaultModel: models.default });
}

async function storeAt(config: ReadConfig, written: string, env: Environment): Promise<Store> {
  const place = expanded(config, ["store"], written, env);
  if (/^postgres(?:ql)?:\/\//i.test(place)) {
    const { postgresStore } = await import("../store/postgres/index.ts");
    return placed(config, ["store"], () => postgresStore({ connectionString: place }));
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(place)) {
    throw config.problem(["store"], "store must be the path of an SQLite file, or begin with postgres://.");
  }
  const { sqliteStore } = await import("../store/sqlite/index.ts");
  return placed(config, ["store"], () => sqliteStore({ file: resolve(config.folder, place) }));
}

/** A text with its variables, or an error at its place. */
export function expanded(config: ReadConfig, path: FieldPath, text: string, env: Environment): string {
  return placed(config, path, () => expand(text.replaceAll("${env:", "${"), env, String(path.at(-1))));
}

interface PlannedFolder {
  readonly folder: string;
  readonly namespace: string;
  readonly recursive: boolean | undefined;
  readonly path: FieldPath;
}

export function promptFolders({ written, folder: base }: ReadConfig): readonly PlannedFolder[] {
  return (written.prompts ?? []).map((each, index) => {
    const { folder, namespace, recursive } = typeof each === "string" ? { folder: each } : each;
    const path = resolve(base, folder);
    return {
      folder: path,
      namespace: namespace ?? toIdentifier(basename(path), "prompts"),
      recursive,
      path: ["prompts", index],
    };
  });
}

export function resourceAt(config: ReadConfig, index: number, env: Environment): Resource {
  const each = config.written.resources?.[index] ?? "";
  const { path: given, name, title, description } = typeof each === "string" ? { path: each } : each;
  const path = ["resources", index];
  const place = expanded(config, path, given, env);
  const url = /^https?:/i.test(place) ? new URL(place) : undefined;
  const file = url ?? resolve(config.folder, place);
  const uri = url?.href ?? pathToFileURL(String(file)).href;
  return placed(config, path, () =>
    defineResource({
      name: name ?? (basename(url?.pathname ?? place) || "resource"),
      uri,
      title,
      description,
      bytes: async ({ signal }) => (await readSource(file, { signal })).bytes(),
    }),
  );
}

/** Tools that need no code: a pack, or manifests. */
export interface PlannedTools {
  readonly namespace: string;
  readonly path: FieldPath;
  /** The options, with the folders they really have: others mean that it is made again. */
  readonly options: object;
  /** @throws ToolkitError `INVALID_CONFIG`, `CONFLICT` */
  mount(host: PackHost): Disposable;
}

/** The packs and manifests of a configuration. Their modules are loaded for those that have some. */
export async function plannedTools(config: ReadConfig, options: ConfiguredOptions): Promise<readonly PlannedTools[]> {
  const { written, folder } = config;
  const { fs, http, code } = written.packs ?? {};
  const planned: PlannedTools[] = [];
  const plan = (namespace: string, given: object, source: () => Source) =>
    planned.push({
      namespace,
      path: ["packs", namespace],
      options: given,
      mount: (host) => host.addSource(namespace, source()),
    });
  if (fs !== undefined) {
    const { fsPack } = await import("../tool-packs/fs/index.ts");
    const given = { ...fs, root: resolve(folder, fs.root) };
    plan("fs", given, () => fsPack(given));
  }
  if (http !== undefined) {
    const { httpPack } = await import("../tool-packs/http/index.ts");
    plan("http", http, () => httpPack(http));
  }
  if (code !== undefined) {
    const { codePack } = await import("../tool-packs/code/index.ts");
    const given = { ...code, root: resolve(folder, code.root) };
    plan("code", given, () => codePack(given));
  }
  return [...planned, ...(await plannedManifests(config, options))];
}

/** The modes of manifests that lie above them. */
export const manifestModes: NonNullable<ManifestOptions["executors"]> = {
  a2a: async (...parts) => (await import("../a2a/index.ts")).a2aExecutor(...parts),
};

/** The folders and files of manifests, by absolute paths. @throws ToolkitError `INVALID_CONFIG` for entries of one namespace that contradict */
export function manifestPlaces(config: ReadConfig) {
  const places = (config.written.manifests ?? []).map((each, index) => {
    const { path, namespace = "manifest", recursive = false } = typeof each === "string" ? { path: each } : each;
    return { path: resolve(config.folder, path), namespace, recursive, index };
  });
  for (const { namespace, recursive, index } of places) {
    const first = places.find((each) => each.namespace === namespace);
    if (first === undefined || first.recursive === recursive) continue;
    const message = `manifests.${index} is of the namespace ${namespace}, as manifests.${first.index} is, and has recursive: ${recursive} where that has ${first.recursive}: what is of one namespace is read alike. Write the same in both, or give one another namespace.`;
    throw config.problem(["manifests", index], message);
  }
  return places;
}

/** The manifests of a configuration: those of one namespace together. */
async function plannedManifests(
  config: ReadConfig,
  { env = process.env, watch }: ConfiguredOptions,
): Promise<readonly PlannedTools[]> {
  if (config.written.manifests === undefined) return [];
  const { registerWith } = await import("../manifest/index.ts");
  const { sandboxes } = config.written;
  return [...Map.groupBy(manifestPlaces(config), ({ namespace }) => namespace)].map(([namespace, places]) => {
    const [{ index, recursive } = { index: 0, recursive: false }] = places;
    const place = { namespace, recursive, paths: places.map(({ path }) => path) };
    return {
      namespace,
      path: ["manifests", index],
      options: { ...place, sandboxes },
      mount: (host) => registerWith(host, { ...place, sandboxes, watch, env, executors: manifestModes }),
    };
  });
}
