import type { RecordList, Store } from "../../core/store.ts";
import type { UserExportReport } from "../../core/user.ts";
import { essenceOf } from "../../resource/media-type.ts";
import type { UserCollection } from "../item-key.ts";
import { promptText, type ResourceValue, resourceValue } from "../stored-item.ts";
import { FolderFiles } from "./folder-files.ts";
import {
  type FolderIndex,
  type IndexedPrompt,
  type IndexedResource,
  indexName,
  indexText,
  readIndex,
  resourceFolder,
} from "./index-file.ts";

/** Source and options of an export. */
export interface ExportOptions {
  readonly store: Store;
  readonly owner: string;
  readonly signal: AbortSignal | undefined;
}

/** Writes all items of an owner to a folder. See `UserNamespace.export`. */
export async function exportFolder(folder: string | URL, options: ExportOptions): Promise<UserExportReport> {
  const files = new FolderFiles(folder);
  const before = await readIndex(files);
  const fileNames = new ItemFileNames(before);
  const written: string[] = [];
  const unchanged: string[] = [];
  const write = async (file: string, bytes: Uint8Array) => {
    ((await files.write(file, bytes)) ? written : unchanged).push(file);
  };
  const prompts: IndexedPrompt[] = [];
  for (const record of await list("prompt", options)) {
    const name = record.key;
    const file = fileNames.ofPrompt(name);
    await write(file, Buffer.from(promptText(record)));
    prompts.push({ name, file });
  }
  const resources: IndexedResource[] = [];
  for (const { key: uri } of await list("resource", options)) {
    // One at a time: together they may not fit into memory.
    const { store, owner, signal } = options;
    const record = await store.get({ collection: "resource", owner, key: uri }, { signal });
    if (record === undefined) continue;
    const { size, ...about } = resourceValue(record);
    const file = fileNames.ofResource(uri, about);
    await write(file, record.bytes ?? new Uint8Array());
    resources.push({ uri, file, ...about });
  }
  const current = new Set([...prompts, ...resources].map(({ file }) => file));
  const removed = [...before.prompts, ...before.resources].map(({ file }) => file).filter((file) => !current.has(file));
  // Before the index is written: an index that names a missing file is an error, a file without an entry would be imported again.
  for (const file of removed) await files.remove(file);
  await write(indexName, Buffer.from(indexText({ prompts, resources })));
  return Object.freeze({ written, unchanged, removed: Object.freeze(removed) });
}

async function list(
  collection: UserCollection,
  { store, owner, signal }: ExportOptions,
): Promise<RecordList["records"]> {
  const { records, failures } = await store.list({ collection, owner }, { signal });
  if (failures[0] !== undefined) throw failures[0].error;
  return records;
}

const extensions: Readonly<Record<string, string>> = {
  "application/json": "json",
  "application/pdf": "pdf",
  "application/xml": "xml",
  "application/yaml": "yaml",
  "audio/mpeg": "mp3",
  "image/gif": "gif",
  "image/jpeg": "jpg",
  "image/png": "png",
  "image/svg+xml": "svg",
  "image/webp": "webp",
  "text/css": "css",
  "text/csv": "csv",
  "text/html": "html",
  "text/markdown": "md",
  "text/plain": "txt",
};

/** The file names of items: each its own, regardless of case. An item keeps that of an earlier export, so that no new one renames it. */
class ItemFileNames {
  readonly #taken = new Set(["readme.md"]);
  readonly #before: ReadonlyMap<string, string>;

  constructor({ prompts, resources }: FolderIndex) {
    this.#before = new Map([
      ...prompts.map(({ name, file }) => [`prompt ${name}`, file] as const),
      ...resources.map(({ uri, file }) => [`resource ${uri}`, file] as const),
    ]);
  }

  ofPrompt(name: string): string {
    return this.#free(`prompt ${name}`, name, ".md");
  }

  ofResource(uri: string, { form, name, mediaType }: Pick<ResourceValue, "form" | "name" | "mediaType">): string {
    const base =
      name
        .replace(/[^A-Za-z0-9_-]+/g, "-")
        .replace(/^-+|-+$/g, "")
        .slice(0, 60) || "resource";
    const extension =
      form === "parts" ? "parts.json" : (extensions[essenceOf(mediaType)] ?? (form === "text" ? "txt" : "bin"));
    return this.#free(`resource ${uri}`, `${resourceFolder}/${base}`, `.${extension}`);
  }

  #free(id: string, base: string, extension: string): string {
    const before = this.#before.get(id);
    if (before?.endsWith(extension) && this.#take(before)) return before;
    for (let number = 1; ; number += 1) {
      const file = `${base}${number === 1 ? "" : `-${number}`}${extension}`;
      if (this.#take(file)) return file;
    }
  }

  #take(file: string): boolean {
    const folded = file.toLowerCase();
    if (this.#taken.has(folded)) return false;
    this.#taken.add(folded);
    return true;
  }
}
