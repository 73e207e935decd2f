import { isUtf8 } from "node:buffer";
import { readdir, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { Prompt } from "../core/item.ts";
import { shown } from "../core/options.ts";
import type { ReadOptions } from "../core/resource.ts";
import { fileRole } from "./file-name.ts";
import { parsePromptFile } from "./parse.ts";
import { promptProblem } from "./problem.ts";
import { type PartialFile, Partials, partialFileNames } from "./template/partials.ts";

/**
 * Reads a prompt from a markdown file; its partials are read from the same folder.
 *
 * @param source - a path or a `file:` URL
 * @throws ToolkitError `NOT_FOUND` for a missing file; `INVALID_PROMPT` with file, line, column and what to write instead;
 *   `INVALID_NAME`, `RESERVED_NAME`; the reason of an aborted signal
 */
export async function readPrompt(source: string | URL, options: ReadOptions = {}): Promise<Prompt> {
  const file = pathOf(source);
  const text = await readText(file, options);
  const folder = await collectPartials(dirname(file), text, options);
  return parsePromptFile(text, file, new Partials(folder));
}

/**
 * Reads every prompt of a folder, in the order of the file names: each `*.md` but `README.md` and what starts with `_` (partials)
 * or `.`. Folders inside it are not read.
 *
 * @param folder - a path or a `file:` URL
 * @throws ToolkitError `NOT_FOUND` for a missing folder; `INVALID_PROMPT` for a path to a file; the error of the one broken file; where several are broken,
 *   `INVALID_PROMPT` whose message has a line for each, with an AggregateError of them all as its cause; `CONFLICT` for two prompts
 *   of one name; the reason of an aborted signal
 */
export async function readPrompts(folder: string | URL, options: ReadOptions = {}): Promise<readonly Prompt[]> {
  const path = pathOf(folder);
  const texts = await readTexts(path, options);
  const partials = new Partials(new FolderShelf(path, texts.found));
  const errors = [...texts.errors];
  const owners = new Map<string, string>();
  const prompts: Prompt[] = [];
  for (const [name, text] of texts.found) {
    if (fileRole(name) !== "prompt") continue;
    const file = join(path, name);
    try {
      const prompt = parsePromptFile(text, file, partials);
      assertUnique(prompt.name, file, owners);
      prompts.push(prompt);
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
      errors.push(error);
    }
  }
  if (errors.length > 0) throw joined(errors, path);
  return prompts;
}

function pathOf(source: string | URL): string {
  if (typeof source === "string") return source;
  if (source?.protocol === "file:") return fileURLToPath(source);
  const given = source?.protocol ?? shown(source);
  const message = `Prompts are read from files, and ${given} is no file: give a path or a file: URL.`;
  throw new ToolkitError("INVALID_INPUT", message, {
    issues: [{ pointer: "", message: "must be a path or a file: URL" }],
  });
}

async function readText(file: string, { signal }: ReadOptions): Promise<string> {
  let bytes: Buffer;
  try {
    signal?.throwIfAborted();
    bytes = await readFile(file, { signal });
  } catch (cause) {
    signal?.throwIfAborted();
    throw unreadable(file, cause);
  }
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

// Enough to keep the disk busy, few enough for any limit on open files.
const readsAtOnce = 16;

interface FolderTexts {
  /** The text of each file by its name, in the order of the names. */
  readonly found: ReadonlyMap<string, string>;
  readonly errors: readonly ToolkitError[];
}

async function readTexts(folder: string, options: ReadOptions): Promise<FolderTexts> {
  const names = await listNames(folder, options);
  const texts = new Map<string, string>(names.map((name) => [name, ""]));
  const errors: ToolkitError[] = [];
  const waiting = names.values();
  const reader = async () => {
    for (const name of waiting) {
      try {
        texts.set(name, await readText(join(folder, name), options));
      } catch (error) {
        if (!ToolkitError.is(error)) throw error;
        texts.delete(name);
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: readsAtOnce }, reader));
  return { found: texts, errors: errors.sort((a, b) => (a.message < b.message ? -1 : 1)) };
}

async function listNames(folder: string, { signal }: ReadOptions): Promise<readonly string[]> {
  signal?.throwIfAborted();
  try {
    const entries = await readdir(folder, { withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory() && fileRole(entry.name) !== undefined)
      .map((entry) => entry.name)
      .sort();
  } catch (cause) {
    if (await isFile(folder)) {
      const place = { line: 1, column: 1 };
      throw promptProblem(folder, place, "This is a file and no folder.", "Read it with readPrompt.", cause);
    }
    throw unreadable(folder, cause);
  }
}

async function isFile(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isFile() === true;
}

class FolderShelf {
  readonly #folder: string;
  readonly #texts: ReadonlyMap<string, string>;

  constructor(folder: string, texts: ReadonlyMap<string, string>) {
    this.#folder = folder;
    this.#texts = texts;
  }

  find(name: string): PartialFile | undefined {
    const found = partialFileNames(name).find((candidate) => this.#texts.has(candidate));
    if (found === undefined) return undefined;
    return { file: join(this.#folder, found), text: this.#texts.get(found) ?? "" };
  }

  describe(name: string): string {
    const [first, second, third] = partialFileNames(name);
    return `${first}, ${second} and ${third} in ${this.#folder}`;
  }
}

// Finds more than the template does, such as what stands in a comment: a file too many does no harm.
const partialTags = /\{\{~?\s*>\s*["']?([A-Za-z0-9_][A-Za-z0-9_-]*)/g;

/** Reads the partials a text may need, and those that they may need. */
async function collectPartials(folder: string, text: string, options: ReadOptions): Promise<FolderShelf> {
  const texts = new Map<string, string>();
  const seen = new Set<string>();
  const queue = [text];
  for (const current of queue) {
    for (const [, name = ""] of current.matchAll(partialTags)) {
      if (seen.has(name)) continue;
      seen.add(name);
      const found = await readFirst(folder, partialFileNames(name), options);
      if (found === undefined) continue;
      texts.set(found.name, found.text);
      queue.push(found.text);
    }
  }
  return new FolderShelf(folder, texts);
}

async function readFirst(
  folder: string,
  names: readonly string[],
  options: ReadOptions,
): Promise<{ readonly name: string; readonly text: string } | undefined> {
  for (const name of names) {
    try {
      return { name, text: await readText(join(folder, name), options) };
    } catch (error) {
      if (!ToolkitError.is(error, "NOT_FOUND")) throw error;
    }
  }
  return undefined;
}

function assertUnique(name: string, file: string, owners: Map<string, string>): void {
  const owner = owners.get(name);
  if (owner !== undefined) {
    const message = `${file}: The name "${name}" is that of ${owner} too. Give one of them another name.`;
    throw new ToolkitError("CONFLICT", message, { key: name, owners: [owner, file] });
  }
  owners.set(name, file);
}

function joined(errors: readonly ToolkitError[], folder: string): ToolkitError {
  const [first] = errors;
  if (first === undefined || errors.length === 1) return first as ToolkitError;
  const details = ToolkitError.is(first, "INVALID_PROMPT") ? first.details : { file: folder };
  const lines = errors.map((error) => `\n- ${error.message}`).join("");
  const cause = new AggregateError(errors, `${errors.length} prompts cannot be read.`);
  return new ToolkitError("INVALID_PROMPT", `${errors.length} prompts of ${folder} cannot be read:${lines}`, details, {
    cause,
  });
}
