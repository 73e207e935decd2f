import { basename, dirname } from "node:path";
import type { Delegate } from "../core/delegate.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { ServedToolkit } from "../core/served-toolkit.ts";
import { type FolderWatcher, watchFolder } from "../lib/folder-watcher.ts";
import type { FieldPath } from "../lib/value.ts";
import { promptFolder } from "../prompt/prompt-folder.ts";
import { Toolkit } from "../toolkit/toolkit.ts";
import type { Workflows } from "../workflow/workflows.ts";
import {
  type ConfiguredOptions,
  type PlannedTools,
  placed,
  plannedTools,
  promptFolders,
  readOptions,
  resourceAt,
} from "./config-parts.ts";
import type { WrittenConfig } from "./config-schema.ts";
import type { ConfiguredWorkflows } from "./config-workflows.ts";
import { addConnector, agentMaker, plannedConnectors } from "./planned-connectors.ts";
import { type ReadConfig, readConfig } from "./read-config.ts";

/** The changes that a newer version of a configuration made. */
export interface AppliedChanges {
  /** The namespaces and URIs that are new, gone, or made again. */
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
  /** The fields that a toolkit reads once: they hold when it is started again. */
  readonly waiting: readonly string[];
}

/** A part of a toolkit, as it is written and as it can be taken away again. */
interface Part {
  readonly text: string;
  readonly add: () => void;
  readonly remove: () => Promise<void> | void;
}

type Parts = ReadonlyMap<string, Part>;

/** A toolkit made from a configuration, which follows newer versions of it. */
export class ConfiguredToolkit {
  readonly toolkit: Toolkit;
  readonly #options: ConfiguredOptions;
  #config: ReadConfig;
  #parts: Parts = new Map();
  readonly #workflows: PlaceOfWorkflows;

  private constructor(toolkit: Toolkit, workflows: PlaceOfWorkflows, config: ReadConfig, options: ConfiguredOptions) {
    this.toolkit = toolkit;
    this.#workflows = workflows;
    this.#config = config;
    this.#options = options;
  }

  /**
   * Makes the toolkit. Nothing is started: `toolkit.start` does that.
   *
   * @throws ToolkitError `INVALID_CONFIG` naming file, line and column
   */
  static async of(config: ReadConfig, options: ConfiguredOptions = {}): Promise<ConfiguredToolkit> {
    const workflows = new PlaceOfWorkflows();
    const { delegate = [], ...others } = options.toolkit ?? {};
    const given = {
      ...others,
      delegate: [...[delegate].flat(), workflows],
    };
    const read = await readOptions(config, options.env ?? process.env, { ...options, toolkit: given });
    const configured = new ConfiguredToolkit(new Toolkit({ ...given, ...read }), workflows, config, options);
    try {
      const tools = await configured.#sourcesOf(config);
      configured.#parts = configured.#partsOf(config, tools, await agentMaker(config));
      for (const { add } of configured.#parts.values()) add();
      return configured;
    } catch (error) {
      await configured.toolkit.close();
      throw error;
    }
  }

  /** The workflows of the configuration, and their runs. */
  get workflows(): Workflows | undefined {
    return this.#workflows.flows;
  }

  /**
   * Applies a newer version: only what changed is taken away and made again.
   *
   * @throws ToolkitError `INVALID_CONFIG` for a part that is refused; those before it in the file are applied
   */
  async apply(next: ReadConfig): Promise<AppliedChanges> {
    const before = this.#parts;
    const after = this.#partsOf(next, await this.#sourcesOf(next), await agentMaker(next));
    const removed = [...before.keys()].filter((name) => !after.has(name));
    const changed = [...after.keys()].filter(
      (name) => before.has(name) && before.get(name)?.text !== after.get(name)?.text,
    );
    const added = [...after.keys()].filter((name) => !before.has(name));
    const kept = new Map(before);
    for (const name of [...removed, ...changed]) {
      await before.get(name)?.remove();
      kept.delete(name);
      this.#parts = new Map(kept);
    }
    for (const name of [...changed, ...added]) {
      const part = after.get(name);
      part?.add();
      if (part !== undefined) kept.set(name, part);
      this.#parts = new Map(kept);
    }
    const waiting = readOnce.filter((field) => textOf(this.#config.written[field]) !== textOf(next.written[field]));
    this.#config = next;
    return { added, removed, changed, waiting };
  }

  /** Packs, manifests and workflows. */
  async #sourcesOf(config: ReadConfig): Promise<readonly PlannedTools[]> {
    const tools = await plannedTools(config, this.#options);
    const planned = await this.#workflows.planned(config, this.#options);
    return planned === undefined ? tools : [...tools, planned];
  }

  /** Connectors and folders by namespace, resources by URI. */
  #partsOf(config: ReadConfig, tools: readonly PlannedTools[], a2a: Awaited<ReturnType<typeof agentMaker>>): Parts {
    const { toolkit } = this;
    const { env = process.env, watch = false } = this.#options;
    const parts = new Map<string, Part>();
    const put = (name: string, path: FieldPath, part: Part) => {
      if (parts.has(name)) throw config.problem(path, `There are two of the name ${name}. Give one another namespace.`);
      parts.set(name, part);
    };
    for (const [index, written] of (config.written.resources ?? []).entries()) {
      const item = resourceAt(config, index, env);
      const add = () => placed(config, ["resources", index], () => toolkit.add(item));
      put(item.uri, ["resources", index], { text: textOf(written), add, remove: () => toolkit.remove(item.uri) });
    }
    for (const planned of plannedConnectors(config, this.#options)) {
      const { namespace, path, target, options } = planned;
      const add = () => placed(config, path, () => addConnector(toolkit, planned, config, a2a));
      const { auth: _, ...plain } = options;
      const text = textOf([target, plain, at(config.written, path)]);
      put(namespace, path, { text, add, remove: () => toolkit.removeConnector(namespace) });
    }
    for (const { folder, namespace, recursive, path } of promptFolders(config)) {
      let mounted: Disposable | undefined;
      const add = () => {
        const source = promptFolder(folder, { recursive, watch });
        mounted = placed(config, path, () => toolkit.addSource(namespace, source));
      };
      put(namespace, path, { text: textOf([folder, recursive]), add, remove: () => mounted?.[Symbol.dispose]() });
    }
    for (const { namespace, path, options, mount } of tools) {
      let mounted: Disposable | undefined;
      const add = () => {
        mounted = placed(config, path, () => mount(toolkit));
      };
      put(namespace, path, { text: textOf(options), add, remove: () => mounted?.[Symbol.dispose]() });
    }
    return parts;
  }
}

/** The workflows among the delegates of a toolkit. They are made for the first version of its configuration that has some. */
class PlaceOfWorkflows implements Delegate {
  #workflows: ConfiguredWorkflows | undefined;
  #toolkit: ServedToolkit | undefined;
  /** The latest change of each list, from before there were workflows. */
  readonly #lists = new Map<string, ToolkitEvent>();

  get flows(): Workflows | undefined {
    return this.#workflows?.flows;
  }

  attach(toolkit: ServedToolkit): void {
    this.#toolkit = toolkit;
  }

  onEvent(event: ToolkitEvent): void {
    if (this.flows !== undefined) this.flows.onEvent?.(event);
    else if (event.type === "toolListChanged" || event.type === "promptListChanged")
      this.#lists.set(`${event.type} ${event.namespace}`, event);
  }

  async planned(config: ReadConfig, { takeOver, watch = false }: ConfiguredOptions): Promise<PlannedTools | undefined> {
    if (config.written.workflows === undefined) return undefined;
    this.#workflows ??= await this.#made(takeOver);
    return this.#workflows.planned(config, { watch });
  }

  async #made(takeOver: boolean | undefined): Promise<ConfiguredWorkflows> {
    const { ConfiguredWorkflows: Made } = await import("./config-workflows.ts");
    const made = new Made({ takeOver });
    if (this.#toolkit !== undefined) made.flows.attach?.(this.#toolkit);
    for (const event of this.#lists.values()) made.flows.onEvent?.(event);
    this.#lists.clear();
    return made;
  }
}

const readOnce = ["policy", "settings", "egress", "store", "models", "timeoutMs", "server"] as const;

function textOf(value: unknown): string {
  return JSON.stringify(value) ?? "";
}

function at(written: WrittenConfig, [list = "", name = ""]: FieldPath): unknown {
  return (written as Readonly<Record<string, Readonly<Record<string, unknown>> | undefined>>)[list]?.[name];
}

/** The listeners of a configuration that is followed. */
export interface FollowOptions {
  onApplied(changes: AppliedChanges): void;
  /** Called with the mistakes of a version that is not applied: the last good one holds. */
  onProblem(error: unknown): void;
}

/** Applies each version of a configuration file to its toolkit, one after the other, until it is closed. */
export function followConfig(
  configured: ConfiguredToolkit,
  config: ReadConfig,
  options: FollowOptions,
): Pick<FolderWatcher, "close"> {
  const { file } = config;
  let last: Promise<void> = Promise.resolve();
  let isClosed = false;
  const apply = async () => {
    try {
      const next = await readConfig(file);
      if (isClosed) return;
      options.onApplied(await configured.apply(next));
    } catch (error) {
      if (!isClosed) options.onProblem(error);
    }
  };
  const watcher = watchFolder(dirname(file), {
    wanted: (name) => name === basename(file),
    onChange: () => {
      last = last.then(apply);
    },
    onProblem: options.onProblem,
  });
  return {
    close: () => {
      isClosed = true;
      watcher.close();
    },
  };
}
