import { messageOf, ToolkitError } from "../../core/error.ts";
import { isRecord, present } from "../../lib/value.ts";
import type { ResourceValue } from "../stored-item.ts";
import type { FolderFiles } from "./folder-files.ts";

/** The file of a folder that describes the other files. */
export const indexName = "user.json";

/** The subfolder of the files of resources. */
export const resourceFolder = "resources";

const version = 1;

/** The index of 10,000 items has a few megabytes; a larger one would block the event loop while it is parsed. */
const maxIndexBytes = 16 * 1024 * 1024;

/** A prompt or partial, and its file. */
export interface IndexedPrompt {
  readonly name: string;
  readonly file: string;
}

/** A resource, its descriptive fields, and its file. */
export interface IndexedResource extends Omit<ResourceValue, "size"> {
  readonly uri: string;
  readonly file: string;
}

/** The items of a folder and their files. */
export interface FolderIndex {
  readonly prompts: readonly IndexedPrompt[];
  readonly resources: readonly IndexedResource[];
}

/** The text of the index, the same for the same items. */
export function indexText({ prompts, resources }: FolderIndex): string {
  return `${JSON.stringify({ version, prompts, resources }, null, 2)}\n`;
}

/** The error of a file of a folder that is larger than allowed. */
export function tooLarge(file: string, max: number, actual: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `${file}: The file has ${actual} bytes, and ${max} are allowed. Shorten it, or divide it.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "itemBytes", max, actual });
}

/**
 * The index of a folder; an empty one where it has none.
 *
 * @throws ToolkitError `INVALID_CONFIG`, with the path of what is wrong; `LIMIT_EXCEEDED`
 */
export async function readIndex(files: FolderFiles): Promise<FolderIndex> {
  const bytes = await files.read(indexName, maxIndexBytes, tooLarge);
  return bytes === undefined ? { prompts: [], resources: [] } : parseIndex(bytes.toString("utf8"));
}

function parseIndex(text: string): FolderIndex {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw wrong("", `is no JSON: ${messageOf(cause)}`, cause);
  }
  if (!isRecord(value) || value.version !== version) throw wrong("version", `must have the version ${version}`);
  const { prompts = [], resources = [] } = value;
  if (!Array.isArray(prompts)) throw wrong("prompts", "must have a list of prompts");
  if (!Array.isArray(resources)) throw wrong("resources", "must have a list of resources");
  return {
    prompts: prompts.map((each: unknown, at) => indexedPrompt(each, `prompts.${at}`)),
    resources: resources.map((each: unknown, at) => indexedResource(each, `resources.${at}`)),
  };
}

function indexedPrompt(value: unknown, path: string): IndexedPrompt {
  const { name, file } = isRecord(value) ? value : {};
  if (typeof name !== "string" || typeof file !== "string") throw wrong(path, "must have a name and a file");
  return { name, file: inFolder(file, path, /^[^/]+$/) };
}

function indexedResource(value: unknown, path: string): IndexedResource {
  const { uri, file, form, name, mediaType, title, description, meta } = isRecord(value) ? value : {};
  const isText = (each: unknown): each is string => typeof each === "string";
  if (!isText(uri) || !isText(file) || !isText(name) || !isText(mediaType))
    throw wrong(path, "must have a uri, a file, a name and a mediaType");
  if (form !== "text" && form !== "bytes" && form !== "parts")
    throw wrong(path, "must have a form: text, bytes or parts");
  for (const each of [title, description])
    if (each !== undefined && !isText(each)) throw wrong(path, "must have texts as title and description");
  if (meta !== undefined && !isRecord(meta)) throw wrong(path, "must have an object as meta");
  const optional = present({ title, description, meta }) as Pick<IndexedResource, "title" | "description" | "meta">;
  return { uri, file: inFolder(file, path, /^resources\/[^/]+$/), form, name, mediaType, ...optional };
}

/** The name of a file in the folder. */
function inFolder(file: string, path: string, form: RegExp): string {
  if (form.test(file) && !/(?:^|\/)\.|[\\\0]/.test(file)) return file;
  throw wrong(`${path}.file`, `must have files of the folder alone, and not ${JSON.stringify(file)}`);
}

function wrong(path: string, what: string, cause?: unknown): ToolkitError<"INVALID_CONFIG"> {
  const where = path === "" ? indexName : `${indexName}, ${path}`;
  return new ToolkitError("INVALID_CONFIG", `${where}: the file ${what}.`, { path }, { cause });
}
