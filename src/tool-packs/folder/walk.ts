import type { Dirent } from "node:fs";
import { lstat } from "node:fs/promises";
import { setImmediate as turn } from "node:timers/promises";
import {
  type ContainedFolder,
  entriesOf,
  inside,
  type OpenFile,
  type OpenFolder,
  openChild,
  openChildFile,
} from "./contained-folder.ts";
import { IgnoreRules } from "./ignore-rules.ts";

/** Folders deeper than this are not entered: each one above is open meanwhile. */
export const maxDepth = 40;
/** A larger ignore file is not read. */
const maxIgnoreBytes = 64 * 1_024;
/** Of a folder with more entries than this the rest is left out: they are sorted, for which all must be there. */
const maxFolderEntries = 20_000;
/** So many entries are looked at before other work has its turn. */
const entriesPerTurn = 500;

/** One entry of a walk, in the order of a listing. */
export interface WalkEntry {
  readonly name: string;
  /** Relative to where the walk began, its parts. */
  readonly parts: readonly string[];
  readonly kind: "file" | "folder" | "link" | "other";
  /** The folder it is in, open until the walk goes on. */
  readonly folder: OpenFolder;
  /** Its bytes; 0 for one that is gone. */
  size(): Promise<number>;
}

/** The options of a walk. */
export interface WalkOptions {
  /** Folders below this depth are named and not entered. 1: the folder's own entries. */
  readonly depth: number;
  /** The most entries. */
  readonly maxEntries: number;
  /** Whether entries that `.gitignore` files leave out are taken, and the folder `.git`. */
  readonly ignored: boolean;
  readonly signal: AbortSignal;
}

/** The end of a walk. */
export interface WalkEnd {
  /** False where there are more entries than were asked for. */
  readonly complete: boolean;
}

interface Rules {
  readonly rules: IgnoreRules;
  /** The number of parts of the folder that they are in. */
  readonly depth: number;
}

/** Walks a folder, depth first, by name, following no link. */
export async function* walk(
  contained: ContainedFolder,
  path: string,
  options: WalkOptions,
): AsyncGenerator<WalkEntry, WalkEnd> {
  const { maxEntries, ignored, signal } = options;
  const depth = Math.min(options.depth, maxDepth);
  let left = maxEntries;
  let complete = true;

  async function* into(
    folder: OpenFolder,
    above: readonly string[],
    rules: readonly Rules[],
  ): AsyncGenerator<WalkEntry> {
    const own = ignored ? undefined : await rulesIn(folder);
    const all = own === undefined ? rules : [...rules, { rules: own, depth: above.length }];
    const { entries, more } = await entriesOf(folder, maxFolderEntries);
    if (more) complete = false;
    for (const entry of byName(entries)) {
      const parts = [...above, entry.name];
      if (!ignored && isIgnored(entry, parts, all)) continue;
      if (left <= 0) {
        complete = false;
        return;
      }
      left -= 1;
      if (left % entriesPerTurn === 0) await turn();
      signal.throwIfAborted();
      yield { name: entry.name, parts, kind: kindOf(entry), folder, size: () => sizeOf(folder, entry.name) };
      if (!entry.isDirectory()) continue;
      if (parts.length >= depth) continue;
      const child = await openChild(folder, entry.name);
      if (child === undefined) continue;
      try {
        yield* into(child, parts, all);
      } finally {
        await child.handle.close();
      }
    }
  }

  const folder = await contained.openFolder(path);
  try {
    yield* into(folder, [], []);
  } finally {
    await folder.handle.close();
  }
  return { complete };
}

function kindOf(entry: Dirent): WalkEntry["kind"] {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "folder";
  return entry.isSymbolicLink() ? "link" : "other";
}

async function sizeOf(folder: OpenFolder, name: string): Promise<number> {
  return await lstat(inside(folder, name)).then(
    ({ size }) => size,
    () => 0,
  );
}

function byName(entries: readonly Dirent[]): readonly Dirent[] {
  return entries.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

function isIgnored(entry: Dirent, parts: readonly string[], all: readonly Rules[]): boolean {
  const isFolder = entry.isDirectory();
  if (isFolder && entry.name === ".git") return true;
  // Rules nearer to the file come after those above.
  for (const { rules, depth } of all.toReversed()) {
    const verdict = rules.verdict(parts.slice(depth), isFolder);
    if (verdict !== undefined) return verdict;
  }
  return false;
}

async function rulesIn(folder: OpenFolder): Promise<IgnoreRules | undefined> {
  let file: OpenFile | undefined;
  try {
    file = await openChildFile(folder, ".gitignore");
    return file.stats.size > maxIgnoreBytes ? undefined : new IgnoreRules(await file.handle.readFile("utf8"));
  } catch {
    return undefined;
  } finally {
    await file?.handle.close();
  }
}
