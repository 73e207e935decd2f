import { lstat, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { isStrayLink } from "./bounded-file.ts";

/** A file as it was when it was looked at. */
export interface FileState {
  /** Bytes. */
  readonly size: number;
  /** Another whenever the file was written, replaced or changed in its rights. */
  readonly version: string;
}

/** A folder as it was when it was looked at. */
export interface FolderState {
  /** Which folder it is: another one under the same path has another. Undefined where there is none that can be read. */
  readonly identity: string | undefined;
  /** Why there is none. */
  readonly error: unknown;
  /** Its files by name, in code-unit order; those of its folders, where these are scanned, by their path from it: `a/b.md`. */
  readonly files: ReadonlyMap<string, FileState>;
  /** The folders in it that are scanned, by their path from it. */
  readonly folders: readonly string[];
  /** Those of its files that links lead to. */
  readonly links: readonly string[];
}

const statsAtOnce = 500;
/** The files of a folder that count. */
export interface WantedFiles {
  /** Whether a file counts, by its name. */
  wanted(name: string): boolean;
  /** Whether a folder in it is scanned too, by its name. Default: none is. */
  entered?(name: string): boolean;
}

/** Folders inside each other are not scanned beyond it. Links to folders never are, so that there is an end. */
export const maxFolderDepth = 16;

/** The coarsest grain of file times, in milliseconds: two writes within it can leave the same time. */
export const timeGrainMs = 20;

/**
 * Looks at the files of a folder that are wanted; links to files are followed. One that leads out of the folder counts as a file, whatever it
 * leads to: reading it says so. It never rejects.
 */
export async function scanFolder(path: string, wanted: WantedFiles): Promise<FolderState> {
  try {
    const identity = await folderIdentity(path);
    const { names, folders, links } = await namesOf(path, wanted);
    const files = new Map<string, FileState>();
    for await (const [name, state] of fileStates(path, names)) if (state !== undefined) files.set(name, state);
    return { identity, error: undefined, files, folders, links };
  } catch (error) {
    return { identity: undefined, error, files: new Map(), folders: [], links: [] };
  }
}

/**
 * Looks again at some of what is in a folder.
 *
 * @param names - by their path from it; such as are not wanted too
 * @returns undefined where the whole must be scanned: folders in it changed, or links
 */
export async function scanNames(
  path: string,
  before: FolderState,
  names: ReadonlySet<string>,
  { wanted, entered }: WantedFiles,
): Promise<FolderState | undefined> {
  const folders = new Set(before.folders);
  const links = new Set(before.links);
  const looked: string[] = [];
  for (const name of names) {
    const isWanted = wanted(basename(name));
    if (!isWanted && links.size === 0 && entered === undefined) continue;
    const found = await lstat(join(path, name)).catch(() => undefined);
    const isEntered = found?.isDirectory() === true && entered?.(basename(name)) === true;
    if (isEntered !== folders.has(name) || (found?.isSymbolicLink() ?? false) !== links.has(name)) return undefined;
    if (isWanted) looked.push(name);
    // A link may lead through any name.
    else looked.push(...links);
  }
  const changed: (readonly [name: string, state: FileState | undefined])[] = [];
  for await (const [name, state] of fileStates(path, [...new Set(looked)])) {
    if (state?.version !== before.files.get(name)?.version) changed.push([name, state]);
  }
  if (changed.length === 0) return before;
  const files = new Map(before.files);
  for (const [name, state] of changed) {
    if (state === undefined) files.delete(name);
    else files.set(name, state);
  }
  if (!changed.some(([name]) => !before.files.has(name))) return { ...before, files };
  return { ...before, files: new Map([...files].sort(([one], [other]) => (one < other ? -1 : 1))) };
}

/** The stamps of folders, by their paths from one: each is another once something in the folder was made, removed or renamed. */
export async function folderStamps(path: string, folders: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const stamps = new Map<string, string>();
  for (const some of portions(["", ...folders])) {
    const found = await Promise.all(some.map((folder) => folderStamp(join(path, folder))));
    for (const [at, folder] of some.entries()) stamps.set(folder, found[at] ?? "");
  }
  return stamps;
}

async function folderStamp(folder: string): Promise<string> {
  const found = await stat(folder).catch(() => undefined);
  if (found === undefined) return "";
  const { dev, ino, birthtimeMs, mtimeMs } = found;
  return `${dev}:${ino}:${birthtimeMs}:${mtimeMs}${freshness(mtimeMs)}`;
}

async function* fileStates(path: string, names: readonly string[]) {
  for (const some of portions(names)) {
    const states = await Promise.all(some.map((name) => fileState(name, path)));
    for (const [at, name] of some.entries()) yield [name, states[at]] as const;
  }
}

/** To ask for ten thousand at once takes as long as a turn may take several times. */
function portions<T>(all: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / statsAtOnce);
  return Array.from({ length: count }, (_, at) => all.slice(at * statsAtOnce, (at + 1) * statsAtOnce));
}

/** The wanted files of a folder and of those in it that are entered, and these folders. @throws Error of the file system */
async function namesOf(path: string, { wanted, entered }: WantedFiles) {
  const names: string[] = [];
  const links: string[] = [];
  const folders: string[] = [];
  const queue = [{ prefix: "", depth: 0 }];
  for (const { prefix, depth } of queue) {
    // A folder inside that cannot be read, or is gone by now, has no files.
    const reading = readdir(join(path, prefix), { withFileTypes: true });
    const entries = await (prefix === "" ? reading : reading.catch(() => []));
    for (const entry of entries) {
      const name = `${prefix}${entry.name}`;
      if (wanted(entry.name) && (entered === undefined || !entry.isDirectory())) {
        names.push(name);
        if (entry.isSymbolicLink()) links.push(name);
      } else if (entry.isDirectory() && depth < maxFolderDepth && entered?.(entry.name)) {
        folders.push(name);
        queue.push({ prefix: `${name}/`, depth: depth + 1 });
      }
    }
  }
  return { names: names.sort(), folders: folders.sort(), links };
}

/** Which folder a path leads to. @throws Error of the file system */
export async function folderIdentity(path: string): Promise<string> {
  const { dev, ino, birthtimeMs } = await stat(path);
  // The number of a folder that is gone may be given to the next one.
  return `${dev}:${ino}:${birthtimeMs}`;
}

async function fileState(name: string, folder: string): Promise<FileState | undefined> {
  const file = join(folder, name);
  const found = await stat(file).catch(() => undefined);
  // Else gone since its name was read, a link that leads nowhere, or no file.
  if (found?.isFile() !== true) return (await isStrayLink(file, folder)) ? { size: 0, version: "link" } : undefined;
  const { size, mtimeMs, ctimeMs, ino } = found;
  return { size, version: `${size}:${mtimeMs}:${ctimeMs}:${ino}${freshness(mtimeMs)}` };
}

/** A mark of a time that was just now. Another change may follow that leaves the same time: it will be another version once it is older. */
function freshness(timeMs: number): "?" | "" {
  return Math.abs(Date.now() - timeMs) < timeGrainMs ? "?" : "";
}

/**
 * The files that were written just now, so that one more write may not be seen in the state.
 *
 * @param names - of those that were looked at. Default: all
 */
export function freshFiles({ files }: FolderState, names: Iterable<string> = files.keys()): readonly string[] {
  const fresh: string[] = [];
  for (const name of names) if (files.get(name)?.version.endsWith("?") === true) fresh.push(name);
  return fresh;
}

/** True where two states are of the same folder with the same files in the same versions. */
export function isSameFolder(a: FolderState, b: FolderState): boolean {
  if (a === b) return true;
  if (a.identity !== b.identity || a.files.size !== b.files.size) return false;
  for (const [name, { version }] of a.files) if (b.files.get(name)?.version !== version) return false;
  return true;
}
