import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
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
  /** Its files by name, in code-unit order. Without what is inside its folders. */
  readonly files: ReadonlyMap<string, FileState>;
}

const statsAtOnce = 500;

/** The coarsest grain of file times, in milliseconds: two writes within it can leave the same time. */
export const timeGrainMs = 20;

/**
 * Looks at the files of a folder whose names are wanted; links are followed. One that leads out of the folder counts as a file, whatever it
 * leads to: reading it says so. It never rejects.
 */
export async function scanFolder(path: string, wanted: (name: string) => boolean): Promise<FolderState> {
  try {
    const identity = await folderIdentity(path);
    const names = (await readdir(path)).filter(wanted).sort();
    const files = new Map<string, FileState>();
    // To ask for ten thousand at once takes as long as a turn may take several times.
    for (let from = 0; from < names.length; from += statsAtOnce) {
      const some = names.slice(from, from + statsAtOnce);
      const states = await Promise.all(some.map((name) => fileState(name, path)));
      for (const [at, name] of some.entries()) {
        const state = states[at];
        if (state !== undefined) files.set(name, state);
      }
    }
    return { identity, error: undefined, files };
  } catch (error) {
    return { identity: undefined, error, files: new Map() };
  }
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
  const ageMs = Date.now() - mtimeMs;
  // Another write may follow that leaves the same size and time: it will be another version once it is older.
  const mark = Math.abs(ageMs) < timeGrainMs ? "?" : "";
  return { size, version: `${size}:${mtimeMs}:${ctimeMs}:${ino}${mark}` };
}

/** True for a state with a file that was written just now, so that one more write may not be seen in it. */
export function isFresh({ files }: FolderState): boolean {
  for (const { version } of files.values()) if (version.endsWith("?")) return true;
  return false;
}

/** True where two states are of the same folder with the same files in the same versions. */
export function isSameFolder(a: FolderState, b: FolderState): boolean {
  if (a.identity !== b.identity || a.files.size !== b.files.size) return false;
  for (const [name, { version }] of a.files) if (b.files.get(name)?.version !== version) return false;
  return true;
}
