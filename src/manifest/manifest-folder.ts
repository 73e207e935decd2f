import { stat } from "node:fs/promises";
import { basename, dirname, join, posix, resolve, sep } from "node:path";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import { readBounded } from "../lib/bounded-file.ts";
import type { WantedFiles } from "../lib/folder-scan.ts";
import { PendingWork } from "../lib/promise.ts";
import { fileStart } from "../prompt/prompt-problem.ts";
import type { FolderContents } from "../resource/followed-folder.ts";
import type { LoadedManifest, ManifestLoader } from "./manifest-loader.ts";
import { loadProblem, manifestProblem } from "./manifest-problem.ts";
import { maxManifestBytes } from "./parse-manifest.ts";

/** A manifest that was loaded, and where it came from. */
export interface PlacedManifest extends LoadedManifest {
  /** For messages. */
  readonly file: string;
}

/** A file, and what came of it. */
interface ManifestFile {
  readonly text: string;
  /** The last good version. */
  readonly loaded: PlacedManifest | undefined;
  /** Why the text could not be loaded. */
  readonly error: ToolkitError | undefined;
}

/** The most manifests of a folder. */
const maxManifests = 10_000;

const isManifestName = (name: string) => /^[^._].*\.(?:ya?ml|json)$/i.test(name);

/** True for the path of a manifest, and not of a folder of them. */
function isManifestPath(path: string): boolean {
  return /\.(?:ya?ml|json)$/i.test(path);
}

/**
 * The manifests of a folder: its `.yaml`, `.yml` and `.json` files but for those whose names begin with `.` or `_`, and those that other
 * manifests read as data; or one file of a folder.
 */
export class ManifestFolder implements FolderContents {
  readonly folder: string;
  readonly files: WantedFiles;
  readonly #loader: ManifestLoader;
  readonly #path: string;
  readonly #isOneFile: boolean;
  readonly #isManifest: (name: string) => boolean;
  readonly #read = new Map<string, ManifestFile>();
  readonly #closing = new PendingWork();
  /** The mistake of the whole place. */
  #fault: ToolkitError | undefined;

  /** @param path - of a folder, or of a manifest */
  constructor(path: string, loader: ManifestLoader, { recursive }: { readonly recursive: boolean }) {
    const isFile = isManifestPath(path);
    this.#path = path;
    this.#isOneFile = isFile;
    this.folder = isFile ? dirname(path) : path;
    this.#loader = loader;
    const own = basename(path);
    // Of the folder of one manifest no more is looked at than what it reads.
    this.files = isFile
      ? { wanted: (name) => name === own || this.#isRead(name), entered: (name) => this.#isEntered(name) }
      : { wanted: (name) => !name.startsWith("."), entered: (name) => !/^\.|^node_modules$/.test(name) };
    this.#isManifest = isFile
      ? (name) => name === own
      : (name) => isManifestName(posix.basename(name)) && (recursive || !name.includes("/"));
  }

  get scope(): string | undefined {
    return this.#isOneFile ? [...this.#dataFiles()].sort().join("\n") : undefined;
  }

  /** In the order of their names. */
  get manifests(): readonly PlacedManifest[] {
    return this.#inOrder().flatMap(([, { loaded }]) => loaded ?? []);
  }

  /** The absolute paths of its manifests, those with mistakes too. */
  get paths(): readonly string[] {
    const data = this.#dataFiles();
    return this.#inOrder().flatMap(([name]) => {
      const path = resolve(this.folder, name);
      return data.has(path) ? [] : path;
    });
  }

  get problems(): readonly Error[] {
    const data = this.#dataFiles();
    const errors = this.#inOrder().flatMap(([name, { error }]) =>
      error === undefined || data.has(resolve(this.folder, name)) ? [] : error,
    );
    return this.#fault === undefined ? errors : [...errors, this.#fault];
  }

  async update(names: readonly string[], changed: readonly string[], { signal }: ReadOptions) {
    const all = names.filter(this.#isManifest);
    const manifests = new Set(all.slice(0, maxManifests));
    const isChanged = new Set(changed);
    this.#fault = this.#faultOf(all.length);
    for (const [name, { loaded }] of this.#read) {
      if (manifests.has(name)) continue;
      this.#read.delete(name);
      this.#close(loaded);
    }
    const paths = new Set(changed.map((name) => resolve(this.folder, name)));
    for (const name of manifests) {
      const before = this.#read.get(name);
      const isDue =
        before?.error !== undefined || [...(before?.loaded?.files ?? [])].some((file) => touches(paths, file));
      if (isDue || before === undefined || isChanged.has(name)) await this.#load(name, before, isDue, signal);
    }
    return (name: string) => this.#read.get(name)?.error !== undefined;
  }

  async unreadable(cause: unknown): Promise<Error> {
    const found = await stat(this.folder).catch(() => undefined);
    if (found?.isFile() === true) return fileProblem(this.folder, "This is a file and no folder.", cause);
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT")
      return fileProblem(this.folder, `The folder cannot be read: ${messageOf(cause)}.`, cause);
    return notThere("folder", this.folder, cause);
  }

  /** Ends what the tools keep running. */
  async close(): Promise<void> {
    for (const { loaded } of this.#read.values()) this.#close(loaded);
    this.#read.clear();
    await this.#closing.settled();
  }

  async #load(
    name: string,
    before: ManifestFile | undefined,
    isDue: boolean,
    signal = new AbortController().signal,
  ): Promise<void> {
    const file = join(this.folder, name);
    let text = "";
    try {
      text = await readText(file, this.folder);
      if (!isDue && text === before?.text) return;
      const loaded = await this.#loader.load({ text, file, folder: dirname(file) }, signal);
      this.#read.set(name, { text, loaded: { ...loaded, file }, error: undefined });
      this.#close(before?.loaded);
    } catch (error) {
      signal.throwIfAborted();
      this.#read.set(name, { text, loaded: before?.loaded, error: loadProblem(error, file) });
    }
  }

  #faultOf(count: number): ToolkitError | undefined {
    if (count > maxManifests) return tooMany(this.folder, count);
    return this.#isOneFile && count === 0 ? notThere("file", this.#path) : undefined;
  }

  #close(loaded: LoadedManifest | undefined): void {
    if (loaded !== undefined) this.#closing.add(loaded.close());
  }

  #inOrder(): readonly (readonly [string, ManifestFile])[] {
    return [...this.#read].sort(([one], [other]) => (one < other ? -1 : 1));
  }

  /** The files that manifests read as data: none of them is a manifest. */
  #dataFiles(): ReadonlySet<string> {
    return new Set([...this.#read.values()].flatMap(({ loaded }) => [...(loaded?.files ?? [])]));
  }

  #isRead(name: string): boolean {
    return [...this.#dataFiles()].some((file) => basename(file) === name || basename(dirname(file)) === name);
  }

  #isEntered(name: string): boolean {
    return [...this.#dataFiles()].some((file) => file.split(sep).includes(name));
  }
}

/** True where one of the paths is the file, or lies in the folder. */
function touches(paths: ReadonlySet<string>, file: string): boolean {
  return paths.has(file) || [...paths].some((path) => path.startsWith(file + sep));
}

async function readText(file: string, folder: string): Promise<string> {
  try {
    const bytes = await readBounded(file, { maxBytes: maxManifestBytes, within: folder });
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (cause) {
    if (cause instanceof TypeError) throw fileProblem(file, "The manifest is not text in UTF-8.", cause);
    throw fileProblem(file, `The manifest cannot be read: ${messageOf(cause)}.`, cause);
  }
}

function fileProblem(file: string, what: string, cause: unknown): ToolkitError {
  return manifestProblem({ file, ...fileStart }, what, "", { cause });
}

function notThere(what: string, path: string, cause?: unknown): ToolkitError {
  const message = `There is no ${what} ${path}: check the path.`;
  return new ToolkitError("NOT_FOUND", message, { key: path, suggestions: [] }, { cause });
}

function tooMany(folder: string, count: number): ToolkitError {
  const message = `${folder} has ${count} manifests, and the first ${maxManifests} were read: divide it.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "manifests", max: maxManifests, actual: count });
}
