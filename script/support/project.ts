import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of the project, without a slash at its end. */
export const project = fileURLToPath(new URL("../..", import.meta.url)).replace(/[/\\]$/, "");

/** The fields of package.json the scripts read. */
export interface Manifest {
  readonly name: string;
  readonly description?: string;
  /** The files that are packed, beside README, LICENSE and package.json; a path after `!` is not. */
  readonly files?: readonly string[];
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly imports: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly bin?: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** package.json of the project. */
export async function readManifest(): Promise<Manifest> {
  return JSON.parse(await readFile(join(project, "package.json"), "utf8"));
}

/** Every file an `exports` field points at, each once. */
export function exportTargets(manifest: Manifest): readonly string[] {
  const targets = Object.values(manifest.exports).flatMap((target) =>
    typeof target === "string" ? [target] : Object.values(target),
  );
  return [...new Set(targets)];
}

/** The modules that must have a file of their own, relative to `dist`. */
export function moduleEntries(manifest: Manifest): readonly string[] {
  const targets = [...exportTargets(manifest), ...Object.values(manifest.imports).flatMap(Object.values)];
  // The last ones are started as processes of their own.
  const started = [...Object.values(manifest.bin ?? {}), "./dist/testing/faulty/relay.js"];
  const modules = [...targets.filter((target) => target.endsWith(".js")), ...started];
  return modules.map((target) => target.replace("./dist/", ""));
}

/** False for a file of a packed folder that is only for those who work on the project. */
export function isPacked({ files = [] }: Manifest, file: string): boolean {
  return !files.some((path) => path === `!${file}` || (path.startsWith("!") && file.startsWith(`${path.slice(1)}/`)));
}

/** The script behind a package's command, to be run by this very Node; `manifest` is the URL of the package.json. */
export async function commandOf(manifest: string, command: string): Promise<string> {
  const { name, bin } = JSON.parse(await readFile(fileURLToPath(manifest), "utf8"));
  const script: unknown = typeof bin === "string" ? bin : bin?.[command];
  if (typeof script !== "string") throw new Error(`${name} has no command "${command}". Run npm ci.`);
  return fileURLToPath(new URL(script, manifest));
}
