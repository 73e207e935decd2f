import { createRequire } from "node:module";
import { dirname } from "node:path";

/** The folder of this package, wherever in it the code is: the build moves files. */
export function packageRoot(): string {
  return dirname(createRequire(import.meta.url).resolve("toolweave/package.json"));
}
