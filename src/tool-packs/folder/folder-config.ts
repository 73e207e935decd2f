import { invalidOption } from "../../core/options.ts";
import type { PackPlace } from "../pack.ts";

/** The options of a pack that works in one folder. */
export interface FolderPackConfig extends PackPlace {
  /** The folder that is used, and what is below it: nothing leads out of it. A relative one counts from the working directory. */
  readonly root: string;
  /** The largest file that is read or written, in bytes. Default 5 MiB. */
  readonly maxFileBytes?: number | undefined;
  /** The most entries that one call looks at. Default 20,000. */
  readonly maxEntries?: number | undefined;
  /** The longest time of one search, in milliseconds. Default 10,000. */
  readonly searchMs?: number | undefined;
}

/** The bounds of tools that work in a folder. */
export interface ReadLimits {
  readonly maxFileBytes: number;
  readonly maxEntries: number;
  readonly searchMs: number;
}

/** The names of the options, for those of a pack. */
export const folderOptionNames = {
  root: true,
  maxFileBytes: true,
  maxEntries: true,
  searchMs: true,
  namespace: true,
} as const;

/**
 * Reads the options.
 *
 * @param owner - the pack, for messages: `of the file pack`
 * @throws ToolkitError `INVALID_CONFIG`
 */
export function readFolderConfig(config: FolderPackConfig, owner: string): ReadLimits & { readonly root: string } {
  const { root, maxFileBytes = 5 * 2 ** 20, maxEntries = 20_000, searchMs = 10_000 } = config;
  if (typeof root !== "string" || root === "") throw invalidOption("root", "the path of a folder", root, owner);
  for (const [name, value] of Object.entries({ maxFileBytes, maxEntries, searchMs }))
    if (!Number.isSafeInteger(value) || value < 1) throw invalidOption(name, "a whole number from 1", value, owner);
  return { root, maxFileBytes, maxEntries, searchMs };
}
