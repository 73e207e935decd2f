import { assertOptionNames, invalidOption } from "../../core/options.ts";
import type { Source } from "../../core/source.ts";
import { ContainedFolder } from "../folder/contained-folder.ts";
import { type FolderPackConfig, folderOptionNames, readFolderConfig } from "../folder/folder-config.ts";
import { type PackHost, packOf } from "../pack.ts";
import { readFileTool, readTreeTool, statTool } from "./read-tools.ts";
import { searchTool } from "./search-tool.ts";
import { editFileTool, writeFileTool } from "./write-tools.ts";

export type { FolderPackConfig } from "../folder/folder-config.ts";
export type { PackHost } from "../pack.ts";

/** The options of the file pack. */
export interface FsPackConfig extends FolderPackConfig {
  /** Whether there are `write_file` and `edit_file`. Default false. */
  readonly write?: boolean | undefined;
}

const owner = "of the file pack";

/**
 * The file pack: `read_tree`, `read_file`, `search` and `stat`, and with `write` also `write_file` and `edit_file`, in one folder. Neither `..`
 * nor a link leads out of it, also where links change meanwhile; devices and pipes are not opened; sizes, entries and time are bounded.
 *
 * @throws ToolkitError `INVALID_CONFIG`
 */
export function fsPack(config: FsPackConfig): Source {
  assertOptionNames<FsPackConfig>(config, { ...folderOptionNames, write: true }, owner);
  const { write = false } = config;
  if (typeof write !== "boolean") throw invalidOption("write", "true or false", write, owner);
  const { root, ...limits } = readFolderConfig(config, owner);
  const folder = new ContainedFolder(root);
  const reading = [
    readTreeTool(folder, limits),
    readFileTool(folder, limits),
    searchTool(folder, limits),
    statTool(folder),
  ];
  return packOf(write ? [...reading, writeFileTool(folder, limits), editFileTool(folder, limits)] : reading);
}

/**
 * Adds the file pack to a toolkit; disposing of what is returned takes it away.
 *
 * @throws ToolkitError `INVALID_CONFIG`, `INVALID_NAME`, `RESERVED_NAME` or `CONFLICT`
 */
export function registerWith(host: PackHost, config: FsPackConfig): Disposable {
  return host.addSource(config.namespace ?? "fs", fsPack(config));
}
