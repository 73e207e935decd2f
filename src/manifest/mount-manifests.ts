import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { observedToolkit } from "../call/observers.ts";
import { messageOf } from "../core/error.ts";
import { assertNamespace } from "../core/identifier.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../core/options.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Source, SourceChange } from "../core/source.ts";
import { isRecord } from "../lib/value.ts";
import type { Environment } from "../lib/variables.ts";
import { ManifestLoader } from "./manifest-loader.ts";
import type { ClientHandler, ManifestExecutor } from "./manifest-port.ts";
import { type GivenManifest, ManifestSet } from "./manifest-set.ts";
import { modes } from "./modes.ts";

/** The options of manifests. */
export interface ManifestOptions {
  /** Folders of manifests, and manifests: paths or `file:` URLs. A path that ends in .yaml, .yml or .json is a manifest. */
  readonly paths?: readonly (string | URL)[] | undefined;
  /** Gives manifests from elsewhere, such as a database: texts, or values. It is called once, and at each `reload()`. */
  readonly load?: ((options: ReadOptions) => readonly GivenManifest[] | Promise<readonly GivenManifest[]>) | undefined;
  /** The namespace of the tools whose manifests name none. Default: `manifest`. */
  readonly namespace?: string | undefined;
  /** Read the folders inside a folder too. Default false: what is in them is data of the manifests. */
  readonly recursive?: boolean | undefined;
  /** Follow the files: a change takes effect at once, and a broken file keeps its last good version. Default false. */
  readonly watch?: boolean | undefined;
  /** Interval of looks in addition to the events of the file system, in milliseconds, from 100. Default: 5 s. */
  readonly pollMs?: number | undefined;
  /** Where `${VAR}` is read from. Default: the environment of the process. */
  readonly env?: Environment | undefined;
  /** Modes beside those of this package, or in their place, by name. */
  readonly executors?: Readonly<Record<string, ManifestExecutor>> | undefined;
  /** Commands that run others, by the name that `exec.sandbox` of a manifest gives. */
  readonly sandboxes?: Readonly<Record<string, readonly string[]>> | undefined;
  /** Handlers of tools of the mode `client`, by tool: they answer in this process. */
  readonly clients?: Readonly<Record<string, ClientHandler>> | undefined;
}

const names: OptionNames<ManifestOptions> = {
  paths: true,
  load: true,
  namespace: true,
  recursive: true,
  watch: true,
  pollMs: true,
  env: true,
  executors: true,
  sandboxes: true,
  clients: true,
};

/** The part of a Toolkit that takes manifests. */
export interface ManifestHost {
  addSource(namespace: string, source: Source): Disposable;
}

/** Manifests that were added to a toolkit. Disposing of them takes their namespaces away. */
export interface MountedManifests extends AsyncDisposable, Disposable {
  /** Reads everything again that may have changed. */
  reload(): void;
}

const owner = "of manifests";
const defaultPollMs = 5_000;
const leastPollMs = 100;

/**
 * Adds the tools of manifests to a toolkit: one source in `namespace`, and one in each namespace that a manifest names. What is wrong in a
 * manifest is among the `failures` of `list()`, with file, line and column, and stops no other one.
 *
 * @throws ToolkitError `INVALID_CONFIG`, `INVALID_NAME`, `RESERVED_NAME` or `CONFLICT`
 *
 * @example
 * ```ts
 * const manifests = registerWith(toolkit, { paths: ["tools"], watch: true });
 * ```
 */
export function registerWith(host: ManifestHost, options: ManifestOptions): MountedManifests {
  assertOptionNames(options, names, owner);
  const { namespace = "manifest", watch = false, recursive = false, pollMs = defaultPollMs, load } = options;
  assertNamespace(namespace);
  for (const [name, value] of Object.entries({ watch, recursive }))
    if (typeof value !== "boolean") throw invalidOption(name, "true or false", value, owner);
  if (typeof pollMs !== "number" || !(pollMs >= leastPollMs))
    throw invalidOption("pollMs", `a number of milliseconds from ${leastPollMs}`, pollMs, owner);
  if (load !== undefined && typeof load !== "function") throw invalidOption("load", "a function", load, owner);
  const paths = pathsOf(options.paths ?? []);
  if (paths.length === 0 && load === undefined) throw invalidOption("paths", "a list of paths", options.paths, owner);
  const { env = process.env, executors = {}, sandboxes = {}, clients = {} } = options;
  for (const [name, value] of Object.entries({ env, executors, sandboxes, clients }))
    if (!isRecord(value)) throw invalidOption(name, "an object", value, owner);
  const clock = observedToolkit(host)?.clock;
  const loader = new ManifestLoader({ env, clock, executors: { ...modes, ...executors }, sandboxes, clients });
  const set = new ManifestSet({ paths, load, recursive, pollMs, namespace }, loader);
  return new Mount(host, set, { namespace, watch });
}

function pathsOf(given: unknown): readonly string[] {
  const wanted = "a list of paths or file: URLs";
  if (!Array.isArray(given)) throw invalidOption("paths", wanted, given, owner);
  return given.map((path: unknown, at) => {
    if (typeof path === "string" && path !== "") return resolve(path);
    if (path instanceof URL && path.protocol === "file:") return fileURLToPath(path);
    throw invalidOption(`paths[${at}]`, wanted, path, owner);
  });
}

type Listener = (change: SourceChange) => void;

/** A namespace that a manifest names. */
interface OtherNamespace {
  readonly mounted: Disposable;
  changed(): void;
}

/** The sources of a set of manifests. That of the default namespace reads for all of them. */
class Mount implements MountedManifests {
  readonly #host: ManifestHost;
  readonly #set: ManifestSet;
  readonly #namespace: string;
  readonly #own: Disposable;
  readonly #others = new Map<string, OtherNamespace>();
  readonly #refused = new Map<string, Error>();
  #listener: Listener | undefined;

  constructor(host: ManifestHost, set: ManifestSet, { namespace, watch }: { namespace: string; watch: boolean }) {
    this.#host = host;
    this.#set = set;
    this.#namespace = namespace;
    this.#own = host.addSource(namespace, {
      immutable: true,
      tool: (options) => this.#read(options),
      problems: () => [...set.problems, ...this.#refused.values()],
      watch: (listener) => {
        this.#listener = listener;
        const end = watch ? set.watch(() => this.reload()) : () => {};
        return () => {
          end();
          this.#end();
        };
      },
    });
  }

  reload(): void {
    this.#listener?.({ kind: "tool" });
  }

  [Symbol.dispose](): void {
    this.#own[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this[Symbol.dispose]();
    await this.#set.close();
  }

  async #read(options: ReadOptions) {
    await this.#set.read(options);
    options.signal?.throwIfAborted();
    const wanted = new Set(this.#set.namespaces.filter((name) => name !== this.#namespace));
    for (const [name, { mounted, changed }] of this.#others) {
      if (wanted.has(name)) changed();
      else {
        this.#others.delete(name);
        mounted[Symbol.dispose]();
      }
    }
    this.#refused.clear();
    for (const name of wanted) if (!this.#others.has(name)) this.#mount(name);
    return this.#set.toolsOf(this.#namespace);
  }

  #mount(name: string): void {
    const listeners = new Set<Listener>();
    const source: Source = {
      immutable: true,
      tool: () => this.#set.toolsOf(name),
      watch: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    };
    try {
      const mounted = this.#host.addSource(name, source);
      const changed = () => {
        for (const listener of listeners) listener({ kind: "tool" });
      };
      this.#others.set(name, { mounted, changed });
    } catch (cause) {
      const message = `The tools of the namespace ${name} are left out: ${messageOf(cause)}`;
      this.#refused.set(name, new Error(message, { cause }));
    }
  }

  #end(): void {
    this.#listener = undefined;
    for (const { mounted } of this.#others.values()) mounted[Symbol.dispose]();
    this.#others.clear();
    void this.#set.close();
  }
}
