import { dirname, join } from "node:path";
import { ToolkitError } from "../core/error.ts";
import type { Prompt } from "../core/item.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import { type PromptLimits, readPromptLimits } from "../core/prompt-limits.ts";
import type { ReadOptions } from "../core/resource.ts";
import { parsePromptFile } from "./parse-prompt.ts";
import { PromptCollection } from "./prompt-collection.ts";
import { assertRecursive, listNames, pathOf, type ReadTextOptions, readText, readTexts } from "./prompt-files.ts";
import { folderPartials, type PartialFinder, Partials, partialFileNames } from "./template/partials.ts";

/** Options of `readPrompt` and `readPrompts`. */
export interface ReadPromptOptions extends ReadOptions {
  /** The size of each file, and the work of a rendering. */
  readonly limits?: PromptLimits | undefined;
}

/** Options of `readPrompts`. */
export interface ReadPromptsOptions extends ReadPromptOptions {
  /**
   * Read the folders inside it too, as `promptFolder` does: `letters/greet.md` is the prompt `letters-greet`, with the partials of its own
   * folder. Folders whose names start with `.` or `_`, `node_modules`, and links to folders are left out. Default false.
   */
  readonly recursive?: boolean | undefined;
}

const optionNames: OptionNames<ReadPromptOptions> = { signal: true, limits: true };

/**
 * Reads a prompt from a markdown file; its partials are read from the same folder.
 *
 * @param source - a path or a `file:` URL
 * @throws ToolkitError `NOT_FOUND` for a missing file; `INVALID_PROMPT` with file, line, column and what to write instead;
 *   `INVALID_NAME`, `RESERVED_NAME`; `LIMIT_EXCEEDED` for a file that is too large; the reason of an aborted signal
 */
export async function readPrompt(source: string | URL, options: ReadPromptOptions = {}): Promise<Prompt> {
  const file = pathOf(source);
  const reading = readingOf(options);
  const text = await readText(file, reading);
  const folder = await collectPartials(dirname(file), text, reading);
  return parsePromptFile(text, file, new Partials(folder, reading.limits));
}

/**
 * Reads every prompt of a folder, in the order of the file names: each `*.md` and `*.prompt` except `README.md` and files whose
 * names start with `_` (partials) or `.`. Folders inside it are read with `recursive` alone, and a link that leads out of it is an error.
 *
 * @param folder - a path or a `file:` URL
 * @throws ToolkitError `NOT_FOUND` for a missing folder; `INVALID_PROMPT` for a path to a file; the error of the one broken file; where several are broken,
 *   `INVALID_PROMPT` whose message has a line for each, with an AggregateError of them all as its cause; `CONFLICT` for two prompts
 *   of one name; the reason of an aborted signal
 */
export async function readPrompts(folder: string | URL, options: ReadPromptsOptions = {}): Promise<readonly Prompt[]> {
  const path = pathOf(folder);
  const { recursive, ...others } = options;
  assertOptionNames<ReadPromptsOptions>(options, { ...optionNames, recursive: true }, "of readPrompts");
  assertRecursive(recursive, "of readPrompts");
  const reading = readingOf(others);
  const names = await listNames(path, { ...reading, recursive });
  const collection = new PromptCollection(path, reading.limits);
  await collection.update(names, await readTexts(path, names, reading));
  if (collection.problems.length > 0) throw joinErrors(collection.problems, path);
  return collection.prompts;
}

function readingOf(options: ReadPromptOptions) {
  assertOptionNames(options, optionNames, "of readPrompt");
  const { signal, limits } = options;
  return { signal, limits: readPromptLimits(limits, "limits") };
}

// Also matches tags in comments: reading a file too many does no harm.
const partialTags = /\{\{~?\s*>\s*["']?([A-Za-z0-9_][A-Za-z0-9_-]*)/g;

/** Reads the partials that a text may need, directly or through other partials. */
async function collectPartials(folder: string, text: string, options: ReadTextOptions): Promise<PartialFinder> {
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
  return folderPartials(folder, texts);
}

async function readFirst(
  folder: string,
  names: readonly string[],
  options: ReadTextOptions,
): Promise<{ readonly name: string; readonly text: string } | undefined> {
  for (const name of names) {
    try {
      return { name, text: await readText(join(folder, name), options, folder) };
    } catch (error) {
      if (!ToolkitError.is(error, "NOT_FOUND")) throw error;
    }
  }
  return undefined;
}

function joinErrors(errors: readonly ToolkitError[], folder: string): ToolkitError {
  const [first] = errors;
  if (first === undefined || errors.length === 1) return first as ToolkitError;
  const details = ToolkitError.is(first, "INVALID_PROMPT") ? first.details : { file: folder };
  const lines = errors.map((error) => `\n- ${error.message}`).join("");
  const cause = new AggregateError(errors, `${errors.length} prompts cannot be read.`);
  return new ToolkitError("INVALID_PROMPT", `${errors.length} prompts of ${folder} cannot be read:${lines}`, details, {
    cause,
  });
}
