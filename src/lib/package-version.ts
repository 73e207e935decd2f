import { readFileSync } from "node:fs";
import { join } from "node:path";
import { packageRoot } from "./package-root.ts";

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
