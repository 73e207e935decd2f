import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

let version: string | undefined;

/** The version of this package. */
export function packageVersion(): string {
  version ??= readVersion();
  return version;
}

function readVersion(): string {
  try {
    const text = readFileSync(join(packageRoot(), "package.json"), "utf8");
    return (JSON.parse(text) as { readonly version: string }).version;
  } catch {
    // A service that was bundled into one file has no package to look into, and is to run all the same.
    return "0.0.0";
  }
}

/** The folder of this package, wherever in it the code is: the build moves files. */
export function packageRoot(): string {
  return dirname(createRequire(import.meta.url).resolve("toolweave/package.json"));
}
