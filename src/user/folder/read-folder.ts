import { isUtf8 } from "node:buffer";
import { messageOf, ToolkitError } from "../../core/error.ts";
import type { ReadPromptLimits } from "../../core/prompt-limits.ts";
import type { Content } from "../../core/resource.ts";
import { fileRole } from "../../prompt/prompt-files.ts";
import { tooLarge as tooLargePrompt } from "../../prompt/prompt-size.ts";
import { assertPromptKey, assertStorableUri, isPartialKey } from "../item-key.ts";
import { promptNameOf } from "../prompt-cache.ts";
import { contentFrom } from "../stored-item.ts";
import type { FolderFiles } from "./folder-files.ts";
import {
  type FolderIndex,
  type IndexedResource,
  indexName,
  readIndex,
  resourceFolder,
  tooLarge,
} from "./index-file.ts";

/** The items of a folder, and the errors in it. */
export interface ReadFolder {
  /** The texts of prompts and partials by key. */
  readonly texts: ReadonlyMap<string, string>;
  /** The contents of resources by URI. */
  readonly contents: ReadonlyMap<string, Content>;
  readonly ignored: readonly string[];
  readonly problems: readonly ToolkitError[];
}

/** The sizes of files beyond which they are not read. */
export interface FolderLimits {
  readonly promptLimits: ReadPromptLimits;
  /** Of a resource. */
  readonly maxItemBytes: number;
}

/**
 * Reads the items of a folder.
 *
 * @throws ToolkitError `NOT_FOUND`, `INVALID_CONFIG`, `LIMIT_EXCEEDED`, `INVALID_INPUT` for a folder that cannot be read
 */
export async function readFolder(
  files: FolderFiles,
  { promptLimits: limits, maxItemBytes }: FolderLimits,
): Promise<ReadFolder> {
  const names = await files.names();
  if (names === undefined) {
    const message = `There is no folder ${files.path}: check the path.`;
    throw new ToolkitError("NOT_FOUND", message, { key: files.path, suggestions: [] });
  }
  const index = await readIndex(files);
  const problems: ToolkitError[] = [];
  const noted = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
      problems.push(error);
      return undefined;
    }
  };
  const texts = new Map<string, string>();
  const owners = new Map<string, string>();
  for (const file of promptFiles(names, index)) {
    await noted(async () => {
      const { key, text } = await readPromptFile(files, file, index, limits);
      const owner = owners.get(key);
      if (owner !== undefined) throw twice(key, owner, file);
      owners.set(key, file);
      texts.set(key, text);
    });
  }
  const contents = new Map<string, Content>();
  for (const each of index.resources) {
    await noted(async () => {
      const owner = owners.get(each.uri);
      if (owner !== undefined) throw twice(each.uri, owner, each.file);
      owners.set(each.uri, each.file);
      contents.set(each.uri, await readResourceFile(files, each, maxItemBytes));
    });
  }
  return { texts, contents, ignored: await ignoredFiles(files, names, index), problems };
}

function promptFiles(names: readonly string[], index: FolderIndex): ReadonlySet<string> {
  return new Set([...index.prompts.map(({ file }) => file), ...names.filter((name) => fileRole(name) !== undefined)]);
}

async function ignoredFiles(
  files: FolderFiles,
  names: readonly string[],
  index: FolderIndex,
): Promise<readonly string[]> {
  const prompts = promptFiles(names, index);
  const known = new Set(index.resources.map(({ file }) => file));
  const resources = ((await files.names(resourceFolder)) ?? []).map((name) => `${resourceFolder}/${name}`);
  return [
    ...names.filter((name) => name !== indexName && !prompts.has(name)),
    ...resources.filter((file) => !known.has(file)),
  ];
}

async function readPromptFile(
  files: FolderFiles,
  file: string,
  index: FolderIndex,
  limits: ReadPromptLimits,
): Promise<{ readonly key: string; readonly text: string }> {
  const bytes = expected(files, file, await files.read(file, limits.maxBytes, tooLargePrompt));
  if (!isUtf8(bytes)) throw new ToolkitError("INVALID_PROMPT", `${file}: The file is not text in UTF-8.`, { file });
  const text = bytes.toString("utf8");
  const name = index.prompts.find((each) => each.file === file)?.name ?? nameOf(file);
  assertPromptKey(name);
  // The rest of a prompt is checked when the texts of all partials are known.
  return { key: isPartialKey(name) ? name : promptNameOf(text, `${name}.md`, limits), text };
}

/** The key of a file without an entry in the index: `_tone.md` and `tone.hbs` are the partial `_tone`. */
function nameOf(file: string): string {
  const name = file.replace(/\.[^.]*$/, "");
  return /\.hbs$/i.test(file) && !name.startsWith("_") ? `_${name}` : name;
}

async function readResourceFile(
  files: FolderFiles,
  { uri, file, ...about }: IndexedResource,
  maxBytes: number,
): Promise<Content> {
  assertStorableUri(uri);
  const bytes = expected(files, file, await files.read(file, maxBytes, tooLarge));
  try {
    return contentFrom(uri, about, new Uint8Array(bytes));
  } catch (cause) {
    const message = `${file}: The file is not of the form "${about.form}" that ${indexName} says: ${messageOf(cause)}`;
    throw new ToolkitError("INVALID_CONFIG", message, { path: "resources" }, { cause });
  }
}

function expected(files: FolderFiles, file: string, bytes: Buffer | undefined): Buffer {
  if (bytes !== undefined) return bytes;
  const message = `${file}: There is no such file in ${files.path}, and ${indexName} names it. Write it, or remove its entry.`;
  throw new ToolkitError("INVALID_CONFIG", message, { path: file });
}

function twice(key: string, owner: string, file: string): ToolkitError<"CONFLICT"> {
  const message = `${file}: The name "${key}" is that of ${owner} too. Give one of them another name, or remove one.`;
  return new ToolkitError("CONFLICT", message, { key, owners: [owner, file] });
}
