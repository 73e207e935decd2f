import type { Store } from "../../core/store.ts";
import type { UserExportReport } from "../../core/user.ts";
import { promptText } from "../prompt-text.ts";
import { resourceValue } from "../stored-resource.ts";
import { FolderFiles } from "./folder-files.ts";
import { type IndexedPrompt, type IndexedResource, indexName, indexText, readIndex } from "./index-file.ts";
import { ItemFileNames } from "./item-file-name.ts";

/** What is exported. */
export interface ExportOptions {
  readonly store: Store;
  readonly owner: string;
  readonly signal: AbortSignal | undefined;
}

/** Writes all that an owner has to a folder. See `UserNamespace.export`. */
export async function exportFolder(folder: string | URL, options: ExportOptions): Promise<UserExportReport> {
  const files = new FolderFiles(folder);
  const before = await readIndex(files);
  const names = new ItemFileNames(before);
  const report = new Report();
  const prompts = await exportPrompts(files, names, report, options);
  const resources = await exportResources(files, names, report, options);
  const now = new Set([...prompts, ...resources].map(({ file }) => file));
  const removed = [...before.prompts, ...before.resources].map(({ file }) => file).filter((file) => !now.has(file));
  // Before the index is written: one that still names what is gone is noticed, a file it does not name is taken in.
  for (const file of removed) await files.remove(file);
  report.note(indexName, await files.write(indexName, Buffer.from(indexText({ prompts, resources }))));
  return Object.freeze({ written: report.written, unchanged: report.unchanged, removed: Object.freeze(removed) });
}

class Report {
  readonly written: string[] = [];
  readonly unchanged: string[] = [];

  note(file: string, isNew: boolean): void {
    (isNew ? this.written : this.unchanged).push(file);
  }
}

async function exportPrompts(
  files: FolderFiles,
  names: ItemFileNames,
  report: Report,
  { store, owner, signal }: ExportOptions,
): Promise<readonly IndexedPrompt[]> {
  const { records, failures } = await store.list({ collection: "prompt", owner }, { signal });
  if (failures[0] !== undefined) throw failures[0].error;
  const indexed: IndexedPrompt[] = [];
  for (const record of records) {
    const name = record.key;
    const file = names.prompt(name);
    report.note(file, await files.write(file, Buffer.from(promptText(record))));
    indexed.push({ name, file });
  }
  return indexed;
}

async function exportResources(
  files: FolderFiles,
  names: ItemFileNames,
  report: Report,
  { store, owner, signal }: ExportOptions,
): Promise<readonly IndexedResource[]> {
  const { records, failures } = await store.list({ collection: "resource", owner }, { signal });
  if (failures[0] !== undefined) throw failures[0].error;
  const indexed: IndexedResource[] = [];
  for (const { key: uri } of records) {
    // One at a time: together they may be more than memory holds.
    const record = await store.get({ collection: "resource", owner, key: uri }, { signal });
    if (record === undefined) continue;
    const { size, ...about } = resourceValue(record);
    const file = names.resource(uri, about);
    report.note(file, await files.write(file, record.bytes ?? new Uint8Array()));
    indexed.push({ uri, file, ...about });
  }
  return indexed;
}
