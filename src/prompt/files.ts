import { isUtf8 } from "node:buffer";
import { type Dirent, readFileSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { messageOf, ToolkitError } from "../core/error.ts";
import { shown } from "../core/options.ts";
import type { ReadOptions } from "../core/resource.ts";
import { fileRole } from "./file-name.ts";
import { promptProblem } from "./problem.ts";

/** The path of a file or folder. @throws ToolkitError `INVALID_INPUT` for what is neither a path nor a `file:` URL */
export function pathOf(source: string | URL): string {
  if (typeof source === "string") return source;
  if (source?.protocol === "file:") return fileURLToPath(source);
  const given = source?.protocol ?? shown(source);
  const message = `Prompts are read from files, and ${given} is no file: give a path or a file: URL.`;
  throw new ToolkitError("INVALID_INPUT", message, {
    issues: [{ pointer: "", message: "must be a path or a file: URL" }],
  });
}

/** The text of a file. @throws ToolkitError `NOT_FOUND`, `INVALID_PROMPT`; the reason of an aborted signal */
export async function readText(file: string, { signal }: ReadOptions): Promise<string> {
  let bytes: Buffer;
  try {
    signal?.throwIfAborted();
    bytes = await readFile(file, { signal });
  } catch (cause) {
    signal?.throwIfAborted();
    throw unreadable(file, cause);
  }
  return textOf(bytes, file);
}

function readTextNow(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch (cause) {
    throw unreadable(file, cause);
  }
  return textOf(bytes, file);
}

function textOf(bytes: Buffer, file: string): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  throw promptProblem(
    file,
    { line: 1, column: 1 },
    "The file is not text in UTF-8.",
    "Save it with the encoding UTF-8.",
  );
}

function unreadable(file: string, cause: unknown): Error {
  const { code } = cause as { code?: string };
  if (code === "ENOENT" || code === "ENOTDIR") {
    const message = `There is no ${JSON.stringify(file)}: check the path.`;
    return new ToolkitError("NOT_FOUND", message, { key: file, suggestions: [] }, { cause });
  }
  const hint = code === "EISDIR" ? "Read a folder with readPrompts." : "Check that it may be read.";
  return promptProblem(file, { line: 1, column: 1 }, `The file cannot be read: ${messageOf(cause)}.`, hint, cause);
}

/** What was read of some files of a folder, by their names. */
export interface FolderTexts {
  readonly texts: ReadonlyMap<string, string>;
  /** Why a file has no text. */
  readonly errors: ReadonlyMap<string, ToolkitError>;
}

// Enough to keep the disk busy, few enough for any limit on open files.
const readsAtOnce = 16;
/** What a disk at hand takes for a file at most, and what is allowed beyond it in all, in milliseconds. */
const fileMs = 0.2;
const slackMs = 10;
/** Others get their turn after so long, in milliseconds. */
const turnMs = 5;

/**
 * Reads some files of a folder. To wait for a file takes several times as long as to read one that is at hand, so they are read at once, in
 * short turns, as long as the disk is as fast as that; the rest is waited for.
 *
 * @throws the reason of an aborted signal
 */
export async function readTexts(folder: string, names: readonly string[], options: ReadOptions): Promise<FolderTexts> {
  const texts = new Map<string, string>();
  const errors = new Map<string, ToolkitError>();
  const keep = (name: string, error: unknown) => {
    if (!ToolkitError.is(error)) throw error;
    errors.set(name, error);
  };
  const atHand = await readAtHand();
  const waiting = names.slice(atHand).values();
  await Promise.all(Array.from({ length: readsAtOnce }, readOthers));
  return { texts, errors };

  /** Gives how many were read. */
  async function readAtHand(): Promise<number> {
    let spentMs = 0;
    let turnBegan = performance.now();
    for (const [index, name] of names.entries()) {
      options.signal?.throwIfAborted();
      try {
        texts.set(name, readTextNow(join(folder, name)));
      } catch (error) {
        keep(name, error);
      }
      const tookMs = performance.now() - turnBegan;
      if (spentMs + tookMs > slackMs + fileMs * index) return index + 1;
      if (tookMs < turnMs) continue;
      await setImmediate();
      spentMs += tookMs;
      turnBegan = performance.now();
    }
    return names.length;
  }

  async function readOthers(): Promise<void> {
    for (const name of waiting) {
      try {
        texts.set(name, await readText(join(folder, name), options));
      } catch (error) {
        keep(name, error);
      }
    }
  }
}

/** The names of the files of a folder that are its business. @throws ToolkitError as `unreadableFolder` says; the reason of an aborted signal */
export async function listNames(folder: string, { signal }: ReadOptions): Promise<readonly string[]> {
  signal?.throwIfAborted();
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    const wanted = entries.filter((entry) => fileRole(entry.name) !== undefined);
    const ends = await Promise.all(wanted.map((entry) => endsWhenRead(folder, entry)));
    return wanted
      .filter((_entry, index) => ends[index])
      .map((entry) => entry.name)
      .sort();
  } catch (cause) {
    throw await unreadableFolder(folder, cause);
  }
}

/**
 * True for a file and for a link, unless it leads to what may never end, such as a pipe or a device: whoever reads that waits for ever. A link
 * that leads nowhere or to a folder fails when it is read, which says so.
 */
async function endsWhenRead(folder: string, entry: Dirent): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile();
  const target = await stat(join(folder, entry.name)).catch(() => undefined);
  return target === undefined || target.isFile() || target.isDirectory();
}

/** Says why a folder cannot be read: `NOT_FOUND` where there is none, else `INVALID_PROMPT`. */
export async function unreadableFolder(folder: string, cause: unknown): Promise<Error> {
  if (!(await isFile(folder))) return unreadable(folder, cause);
  const place = { line: 1, column: 1 };
  return promptProblem(folder, place, "This is a file and no folder.", "Read it with readPrompt.", cause);
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true;
}
