import { readFileSync } from "node:fs";

let version: string | undefined;

/** The version of this package. */
export function packageVersion(): string {
  version ??= readVersion();
  return version;
}

function readVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
