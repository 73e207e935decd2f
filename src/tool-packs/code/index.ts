import { assertOptionNames } from "../../core/options.ts";
import type { Source } from "../../core/source.ts";
import { ContainedFolder } from "../folder/contained-folder.ts";
import { type FolderPackConfig, folderOptionNames, readFolderConfig } from "../folder/folder-config.ts";
import { type PackHost, packOf } from "../pack.ts";
import { analyzeTool, findSymbolTool, outlineTool } from "./code-tools.ts";

export type { FolderPackConfig } from "../folder/folder-config.ts";
export type { PackHost } from "../pack.ts";

const owner = "of the code pack";

/**
 * The code pack: `analyze`, `outline` and `find_symbol` of the sources in one folder. It reads lines, as an editor without a compiler does:
 * definitions and imports that begin on a line of their own are found. Nothing is executed, and nothing leads out of the folder.
 *
 * @throws ToolkitError `INVALID_CONFIG`
 */
export function codePack(config: FolderPackConfig): Source {
  assertOptionNames<FolderPackConfig>(config, folderOptionNames, owner);
  const { root, ...limits } = readFolderConfig(config, owner);
  const folder = new ContainedFolder(root);
  return packOf([analyzeTool(folder, limits), outlineTool(folder, limits), findSymbolTool(folder, limits)]);
}

/**
 * Adds the code pack to a toolkit; disposing of what is returned takes it away.
 *
 * @throws ToolkitError `INVALID_CONFIG`, `INVALID_NAME`, `RESERVED_NAME` or `CONFLICT`
 */
export function registerWith(host: PackHost, config: FolderPackConfig): Disposable {
  return host.addSource(config.namespace ?? "code", codePack(config));
}
