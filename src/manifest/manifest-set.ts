import { messageOf, ToolkitError } from "../core/error.ts";
import type { Tool } from "../core/item.ts";
import type { ReadOptions } from "../core/resource.ts";
import { FollowedFolders } from "../resource/followed-folders.ts";
import { ManifestFolder, type PlacedManifest } from "./manifest-folder.ts";
import type { LoadedManifest, ManifestLoader } from "./manifest-loader.ts";
import { loadProblem } from "./manifest-problem.ts";

/** A manifest that a `load` function gives: its text, or its value. */
export type GivenManifest = string | object;

/** Where manifests come from. */
export interface ManifestOrigins {
  /** Folders, and files by their extension. */
  readonly paths: readonly string[];
  readonly load: ((options: ReadOptions) => readonly GivenManifest[] | Promise<readonly GivenManifest[]>) | undefined;
  readonly recursive: boolean;
  readonly pollMs: number;
  /** The namespace of manifests that name none. */
  readonly namespace: string;
}

const maxGiven = 10_000;

/** Manifests of folders, files and a function, as tools by namespace. */
export class ManifestSet {
  readonly #origins: ManifestOrigins;
  readonly #loader: ManifestLoader;
  readonly #contents: readonly ManifestFolder[];
  readonly #folders: FollowedFolders;
  /** Those of the function. */
  #given: readonly PlacedManifest[] = [];
  #givenProblems: readonly Error[] = [];
  #conflicts: readonly Error[] = [];
  #tools: ReadonlyMap<string, readonly Tool[]> = new Map();
  /** One reading begins when the last one has ended. */
  #reading: Promise<unknown> = Promise.resolve();

  constructor(origins: ManifestOrigins, loader: ManifestLoader) {
    this.#origins = origins;
    this.#loader = loader;
    const { paths, recursive, pollMs } = origins;
    this.#contents = paths.map((path) => new ManifestFolder(path, loader, { recursive }));
    this.#folders = new FollowedFolders(this.#contents, { pollMs });
  }

  get namespaces(): readonly string[] {
    return [...this.#tools.keys()];
  }

  get #manifests(): readonly PlacedManifest[] {
    return [...this.#contents.flatMap(({ manifests }) => manifests), ...this.#given];
  }

  get problems(): readonly Error[] {
    const ofTools = this.#manifests.flatMap(({ problems }) => problems);
    return [...this.#folders.problems, ...ofTools, ...this.#givenProblems, ...this.#conflicts];
  }

  /** The paths of the manifests that were read from files. */
  get paths(): readonly string[] {
    return this.#contents.flatMap(({ paths }) => paths);
  }

  toolsOf(namespace: string): readonly Tool[] {
    return this.#tools.get(namespace) ?? [];
  }

  /** Reads what changed. What cannot be read keeps what was known, and is a problem. @throws the reason of an aborted signal */
  read(options: ReadOptions): Promise<void> {
    const reading = this.#reading.then(() => this.#read(options));
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #read(options: ReadOptions): Promise<void> {
    options.signal?.throwIfAborted();
    await this.#folders.read(options);
    await this.#readGiven(options);
    this.#resolveNames();
  }

  watch(listener: () => void): () => void {
    return this.#folders.watch(listener);
  }

  /** Ends what the tools keep running. */
  async close(): Promise<void> {
    const given = this.#given;
    this.#given = [];
    await Promise.all([...this.#contents.map((each) => each.close()), closeAll(given)]);
  }

  async #readGiven(options: ReadOptions): Promise<void> {
    const { load } = this.#origins;
    if (load === undefined) return;
    const problems: Error[] = [];
    const loaded: PlacedManifest[] = [];
    const { signal = new AbortController().signal } = options;
    try {
      const given = await load({ signal });
      if (!Array.isArray(given) || given.length > maxGiven)
        throw new TypeError(`load gives a list of at most ${maxGiven} manifests`);
      for (const [at, each] of given.entries()) {
        const file = `manifest-${at + 1}`;
        try {
          const text = typeof each === "string" ? each : JSON.stringify(each);
          loaded.push({ ...(await this.#loader.load({ text, file, folder: undefined }, signal)), file });
        } catch (error) {
          signal.throwIfAborted();
          problems.push(loadProblem(error, file));
        }
      }
    } catch (error) {
      await closeAll(loaded);
      signal.throwIfAborted();
      this.#givenProblems = [new Error(`The manifests cannot be loaded: ${messageOf(error)}`, { cause: error })];
      return;
    }
    const before = this.#given;
    this.#given = loaded;
    this.#givenProblems = problems;
    await closeAll(before);
  }

  /** Of two tools of one name the first keeps it. */
  #resolveNames(): void {
    const tools = new Map<string, Tool[]>();
    const owners = new Map<string, string>();
    const conflicts: Error[] = [];
    for (const { namespace = this.#origins.namespace, tools: own, file } of this.#manifests) {
      const list = tools.get(namespace) ?? [];
      tools.set(namespace, list);
      for (const tool of own) {
        const key = `${namespace}.${tool.name}`;
        const owner = owners.get(key);
        owners.set(key, owner ?? file);
        if (owner === undefined) list.push(tool);
        else conflicts.push(conflict(key, owner, file));
      }
    }
    this.#tools = tools;
    this.#conflicts = conflicts;
  }
}

function conflict(key: string, owner: string, file: string): ToolkitError {
  const message = `${file}: The tool ${key} is one of ${owner} too. Give one of them another name.`;
  return new ToolkitError("CONFLICT", message, { key, owners: [owner, file] });
}

async function closeAll(manifests: readonly LoadedManifest[]): Promise<void> {
  await Promise.all(manifests.map((each) => each.close()));
}
