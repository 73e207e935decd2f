import { isUtf8 } from "node:buffer";
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { messageOf, ToolkitError } from "../core/error.ts";
import { invalidOption, shown } from "../core/options.ts";
import { defaultPromptLimits, type ReadPromptLimits } from "../core/prompt-limits.ts";
import type { ReadOptions } from "../core/resource.ts";
import { FileTooLarge, isStrayLink, LinkLeadsOut, readBounded, readBoundedNow } from "../lib/bounded-file.ts";
import { maxFolderDepth } from "../lib/folder-scan.ts";
import { fileStart, promptProblem } from "./prompt-problem.ts";
import { tooLarge } from "./prompt-size.ts";

/** The role of a file in a prompt folder: a prompt, or nothing but a partial. The file of a prompt may be used as a partial too. */
export type PromptFileRole = "prompt" | "partial";

/** The role of a file, by its name; undefined for a file that does not count, such as a README or a backup. */
export function fileRole(name: string): PromptFileRole | undefined {
  if (name.startsWith(".") || name.toLowerCase() === "readme.md") return undefined;
  if (/\.(?:md|prompt)$/i.test(name)) return name.startsWith("_") ? "partial" : "prompt";
  return /\.hbs$/i.test(name) ? "partial" : undefined;
}

/** True for a folder inside a prompt folder that may hold prompts, by its name. */
export function mayHoldPrompts(name: string): boolean {
  return !/^[._]/.test(name) && name !== "node_modules";
}

/** True for a file in the form of Google's dotprompt. */
export function isDotprompt(file: string | undefined): boolean {
  return file !== undefined && /\.prompt$/i.test(file);
}

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

/** Options of reading the file of a prompt. */
export interface ReadTextOptions extends ReadOptions {
  /** The limits of the prompts; `maxBytes` is that of each file. */
  readonly limits?: ReadPromptLimits | undefined;
}

/**
 * The text of a file.
 *
 * @param folder - the folder whose author chose the file: a link that leads out of it is refused
 * @throws ToolkitError `NOT_FOUND`, `INVALID_PROMPT`, `LIMIT_EXCEEDED` for a file that is too large, of which nothing is read; the
 *   reason of an aborted signal
 */
export async function readText(file: string, options: ReadTextOptions, folder?: string): Promise<string> {
  const { signal, limits: { maxBytes } = defaultPromptLimits } = options;
  let bytes: Buffer;
  try {
    signal?.throwIfAborted();
    bytes = await readBounded(file, { maxBytes, within: folder });
    signal?.throwIfAborted();
  } catch (cause) {
    signal?.throwIfAborted();
    throw unreadable(file, cause, maxBytes);
  }
  return textOf(bytes, file);
}

function readTextNow(file: string, { maxBytes }: ReadPromptLimits, folder: string): string {
  let bytes: Buffer;
  try {
    bytes = readBoundedNow(file, { maxBytes, within: folder });
  } catch (cause) {
    throw unreadable(file, cause, maxBytes);
  }
  return textOf(bytes, file);
}

function textOf(bytes: Buffer, file: string): string {
  if (isUtf8(bytes)) return bytes.toString("utf8");
  throw promptProblem(file, fileStart, "The file is not text in UTF-8.", "Save it with the encoding UTF-8.");
}

function unreadable(file: string, cause: unknown, maxBytes = 0): Error {
  if (cause instanceof FileTooLarge) return tooLarge(file, maxBytes, cause.bytes);
  const { code } = cause as { code?: string };
  if (code === "ENOENT" || code === "ENOTDIR") {
    const message = `There is no ${JSON.stringify(file)}: check the path.`;
    return new ToolkitError("NOT_FOUND", message, { key: file, suggestions: [] }, { cause });
  }
  const hint =
    cause instanceof LinkLeadsOut
      ? "Put the file itself there, or read the folder that it is in."
      : code === "EISDIR"
        ? "Read a folder with readPrompts."
        : "Check that it may be read.";
  return promptProblem(file, fileStart, `The file cannot be read: ${messageOf(cause)}.`, hint, cause);
}

/** The texts of some files of a folder, by their names. */
export interface FolderTexts {
  readonly texts: ReadonlyMap<string, string>;
  /** The reason why a file has no text. */
  readonly errors: ReadonlyMap<string, ToolkitError>;
}

// Enough to keep the disk busy, few enough for any limit on open files.
const readsAtOnce = 16;
/** Longest time a file takes on a local disk, and the delay that is tolerated beyond it in all, in milliseconds. */
const fileMs = 0.2;
const slackMs = 10;
/** Longest time the event loop is kept from other work, in milliseconds. */
const turnMs = 5;

/**
 * Reads some files of a folder. An asynchronous read takes several times as long as a synchronous one of a local disk, so files are
 * read synchronously, in short turns, as long as the disk is fast enough; the others are read asynchronously.
 *
 * A link that leads out of the folder is not followed.
 *
 * @throws the reason of an aborted signal
 */
export async function readTexts(
  folder: string,
  names: readonly string[],
  options: ReadTextOptions,
): Promise<FolderTexts> {
  const { limits = defaultPromptLimits } = options;
  const texts = new Map<string, string>();
  const errors = new Map<string, ToolkitError>();
  const keepError = (name: string, error: unknown) => {
    if (!ToolkitError.is(error)) throw error;
    errors.set(name, error);
  };
  const done = await readInTurns();
  const others = names.slice(done).values();
  await Promise.all(Array.from({ length: readsAtOnce }, readOthers));
  return { texts, errors };

  /** Returns the number of files that were read. */
  async function readInTurns(): Promise<number> {
    let spentMs = 0;
    let turnBegan = performance.now();
    for (const [index, name] of names.entries()) {
      options.signal?.throwIfAborted();
      try {
        texts.set(name, readTextNow(join(folder, name), limits, folder));
      } catch (error) {
        keepError(name, error);
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
    for (const name of others) {
      try {
        texts.set(name, await readText(join(folder, name), options, folder));
      } catch (error) {
        keepError(name, error);
      }
    }
  }
}

/** Options of listing the files of a folder. */
export interface ListNamesOptions extends ReadOptions {
  /** Those of the folders inside it too, by their path from it: `letters/greet.md`. */
  readonly recursive?: boolean | undefined;
}

/** @throws ToolkitError `INVALID_CONFIG` for an option `recursive` that is neither true nor false */
export function assertRecursive(recursive: unknown, owner: string): void {
  if (recursive === undefined || typeof recursive === "boolean") return;
  throw invalidOption("recursive", "true or false", recursive, owner);
}

/** The names of the prompts and partials of a folder. @throws ToolkitError as `unreadableFolder` says; the reason of an aborted signal */
export async function listNames(folder: string, options: ListNamesOptions): Promise<readonly string[]> {
  const { signal, recursive = false } = options;
  const names: string[] = [];
  const queue = [{ inside: "", depth: 0 }];
  for (const { inside, depth } of queue) {
    signal?.throwIfAborted();
    const entries = await entriesOf(join(folder, inside));
    const wanted = entries.filter((entry) => fileRole(entry.name) !== undefined);
    const readable = await Promise.all(wanted.map((entry) => isReadable(folder, inside, entry)));
    names.push(...wanted.filter((_entry, index) => readable[index]).map(({ name }) => inside + name));
    if (!recursive || depth >= maxFolderDepth) continue;
    const entered = entries.filter((entry) => entry.isDirectory() && mayHoldPrompts(entry.name));
    queue.push(...entered.map(({ name }) => ({ inside: `${inside}${name}/`, depth: depth + 1 })));
  }
  return names.sort();
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (cause) {
    throw await unreadableFolder(folder, cause);
  }
}

/** The folder that a file is in, as the name of the file begins: `letters/`; empty for the folder itself. */
export function insideOf(name: string): string {
  return name.slice(0, name.lastIndexOf("/") + 1);
}

/** The beginning of the name of a prompt in a folder of the folder: `letters-` for `letters/greet.md`. */
export function namePrefixOf(name: string): string {
  return insideOf(name).replaceAll("/", "-");
}

/**
 * True for a file and for a link to one. False for a pipe or a device, of which reading may never end. A link that leads nowhere, to a
 * folder or out of the whole one counts as readable: reading it fails with an error that says so.
 */
async function isReadable(folder: string, inside: string, entry: Dirent): Promise<boolean> {
  if (!entry.isSymbolicLink()) return entry.isFile();
  const file = join(folder, inside, entry.name);
  const target = await stat(file).catch(() => undefined);
  return target === undefined || target.isFile() || target.isDirectory() || (await isStrayLink(file, folder));
}

/** The names of the folders in a folder that hold prompts themselves. It never rejects. */
export async function foldersWithPrompts(folder: string): Promise<readonly string[]> {
  const inside = (path: string) => readdir(path, { withFileTypes: true }).catch(() => []);
  const folders = (await inside(folder)).filter((entry) => entry.isDirectory() && mayHoldPrompts(entry.name));
  const found: string[] = [];
  for (const { name } of folders) {
    const entries = await inside(join(folder, name));
    if (entries.some((entry) => entry.isFile() && fileRole(entry.name) === "prompt")) found.push(name);
  }
  return found.sort();
}

/** The error of a folder that cannot be read: `NOT_FOUND` where there is none, else `INVALID_PROMPT`. */
export async function unreadableFolder(folder: string, cause: unknown): Promise<Error> {
  if (!(await isFile(folder))) return unreadable(folder, cause);
  return promptProblem(folder, fileStart, "This is a file and no folder.", "Read it with readPrompt.", cause);
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true;
}
