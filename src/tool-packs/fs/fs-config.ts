import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import type { PackPlace } from "../pack.ts";

/** The options of the file pack. */
export interface FsPackConfig extends PackPlace {
  /** The folder that is used, and what is below it: nothing leads out of it. A relative one counts from the working directory. */
  readonly root: string;
  /** Whether there are `write_file` and `edit_file`. Default false. */
  readonly write?: boolean | undefined;
  /** The largest file that is read or written, in bytes. Default 5 MiB. */
  readonly maxFileBytes?: number | undefined;
  /** The most entries that one call looks at. Default 20,000. */
  readonly maxEntries?: number | undefined;
  /** The longest time of one search, in milliseconds. Default 10,000. */
  readonly searchMs?: number | undefined;
}

/** The bounds of the tools. */
export interface FsLimits {
  readonly maxFileBytes: number;
  readonly maxEntries: number;
  readonly searchMs: number;
}

const names: OptionNames<FsPackConfig> = {
  root: true,
  write: true,
  maxFileBytes: true,
  maxEntries: true,
  searchMs: true,
  namespace: true,
};

/** @throws ToolkitError `INVALID_CONFIG` */
export function readFsConfig(config: FsPackConfig): FsLimits & { readonly root: string; readonly write: boolean } {
  const owner = "of the file pack";
  assertOptionNames(config, names, owner);
  const { root, write = false, maxFileBytes = 5 * 2 ** 20, maxEntries = 20_000, searchMs = 10_000 } = config;
  if (typeof root !== "string" || root === "") throw invalidOption("root", "the path of a folder", root, owner);
  if (typeof write !== "boolean") throw invalidOption("write", "true or false", write, owner);
  for (const [name, value] of Object.entries({ maxFileBytes, maxEntries, searchMs }))
    if (!Number.isSafeInteger(value) || value < 1) throw invalidOption(name, "a whole number from 1", value, owner);
  return { root, write, maxFileBytes, maxEntries, searchMs };
}
