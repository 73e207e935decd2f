import { cp, glob, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { isBuiltin } from "node:module";
import { basename, dirname, isAbsolute, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type InputOptions, rolldown } from "rolldown";
import packages from "./bundled-packages.json" with { type: "json" };
import { noticesOf } from "./notices.ts";

/**
 * Packages that become part of ours, with what they bring, since only our own functions see them: what is installed beside is what a service
 * may share. Each is a development dependency, and its licence is in `dist/NOTICE.txt`. The rules of layers read the same file.
 */
const bundledPackages: ReadonlySet<string> = new Set(packages);

/** Of the bundled packages, those whose types users see: their declarations become a file of ours. */
const bundledTypes = { package: "@ai-sdk/provider", file: "lib/ai-sdk-provider" } as const;

/** The files of a folder that a bundle is made of, relative to it. */
export interface BundleFiles {
  /** The modules that must have a file of their own. */
  readonly entries: readonly string[];
  /** The declarations that users see; the others are removed, but for those that these need. */
  readonly types: readonly string[];
}

/**
 * Makes of the many modules a compiler gave as few as the entries need: a module costs as much to find and to link as to run, and there are
 * hundreds. What several entries share stays one module, so that there is one of each class.
 *
 * The libraries that Node loads at their first use are imported as `#libraries`: package.json gives bundlers another file for that name.
 */
export async function bundle(folder: string, { entries, types }: BundleFiles): Promise<void> {
  const temporary = await mkdtemp(`${folder}-`);
  try {
    const packages = await writeModules(folder, entries, temporary);
    for await (const file of glob("**/*.js", { cwd: folder })) await rm(join(folder, file));
    await cp(temporary, folder, { recursive: true });
    for await (const file of glob("**/*.d.ts", { cwd: folder })) await importCompiled(folder, file);
    await writeBundledTypes(folder);
    await removeUnseen(folder, types);
    await writeFile(join(folder, "NOTICE.txt"), await noticesOf(packages));
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/**
 * Writes the modules of the package that these files, relative to the folder, need; the sources serve as well as what was compiled.
 *
 * @returns the folders of the packages that are part of them
 */
export async function writeModules(
  folder: string,
  entries: readonly string[],
  target: string,
): Promise<readonly string[]> {
  const input = Object.fromEntries(entries.map((entry) => [entry.replace(/\.[jt]s$/, ""), join(folder, entry)]));
  const loadedWith = async (entry: string): Promise<ReadonlySet<string>> =>
    entry in input ? (await loadedBy(input[entry] ?? "")).modules : new Set();
  const [core, command] = [await loadedWith("index"), await loadedWith("cli/main")];
  // A chunk for each combination of entries that share something would be sixty files for the main one, and most load that. The command
  // shows its help without the rest.
  const groups = [
    { name: "base", test: (id: string) => core.has(id) && command.has(id) },
    { name: "core", test: (id: string) => core.has(id) },
  ];
  const bundled = await rolldown({ ...options, input });
  // Comments are for those who read the declarations.
  const { output } = await bundled.write({
    dir: target,
    format: "esm",
    chunkFileNames: "chunks/[name]-[hash].js",
    comments: { jsdoc: false },
    codeSplitting: { groups },
  });
  await bundled.close();
  const modules = output.flatMap((each) => (each.type === "chunk" ? each.moduleIds : []));
  return [...new Set(modules.flatMap((id) => packageFolder(id) ?? []))].sort();
}

/** True for a module of a package that is bundled, or that one of these imports. */
function isPart(id: string, importer: string | undefined): boolean {
  if (isBuiltin(id)) return false;
  const [first = "", second = ""] = id.split("/");
  const name = first.startsWith("@") ? `${first}/${second}` : first;
  return bundledPackages.has(name) || (importer !== undefined && packageFolder(importer) !== undefined);
}

/** The folder of the package that a module is in; undefined for one of ours. */
function packageFolder(id: string): string | undefined {
  return /^.*[/\\]node_modules[/\\](?:@[^/\\]+[/\\])?[^/\\]+/.exec(id)?.[0];
}

const options: InputOptions = {
  platform: "node",
  resolve: { mainFields: ["module", "main"] },
  // Every other package is the user's: it is found where they installed it.
  external: (id, importer) => !/^\./.test(id) && !isAbsolute(id) && !isPart(id, importer),
  plugins: [{ name: "libraries", resolveId: (id, importer) => resolveLibraries(id, importer) }],
  logLevel: "warn",
};

/** The modules that are loaded with one, without those that are imported later. */
export interface LoadedModules {
  readonly modules: ReadonlySet<string>;
  /** Those of Node, and of other packages. */
  readonly externals: readonly string[];
}

/** Finds what Node loads with a file, before that does anything. */
export async function loadedBy(entry: string): Promise<LoadedModules> {
  const bundled = await rolldown({ ...options, input: entry });
  const { output } = await bundled.generate({ format: "esm" });
  await bundled.close();
  const chunks = new Map(output.flatMap((file) => (file.type === "chunk" ? [[file.fileName, file] as const] : [])));
  const [first] = output;
  const loaded = new Set([first.fileName]);
  // Grows while it is read.
  for (const name of loaded) for (const imported of chunks.get(name)?.imports ?? []) loaded.add(imported);
  const modules = new Set([...loaded].flatMap((name) => chunks.get(name)?.moduleIds ?? []));
  return { modules, externals: [...loaded].filter((name) => !chunks.has(name)) };
}

function resolveLibraries(id: string, importer: string | undefined): { id: string; external: true } | undefined {
  return importer !== undefined && /^lazy-libraries\.[jt]s$/.test(basename(id))
    ? { id: "#libraries", external: true }
    : undefined;
}

/** The compiler leaves `.ts` in the imports of declarations, which not every tool of a user resolves, and the names of bundled packages. */
async function importCompiled(folder: string, file: string): Promise<void> {
  const text = await readFile(join(folder, file), "utf8");
  const compiled = text.replace(/(\b(?:from|import)\s*\(?\s*"\.[^"]*)\.ts"/g, '$1.js"');
  const inFolder = `${"../".repeat(file.split(/[/\\]/).length - 1) || "./"}${bundledTypes.file}.js`;
  await writeFile(join(folder, file), compiled.replaceAll(`"${bundledTypes.package}"`, `"${inFolder}"`));
}

/** Without its comments, which are longer than the types. */
async function writeBundledTypes(folder: string): Promise<void> {
  const types = fileURLToPath(import.meta.resolve(bundledTypes.package)).replace(/\.js$/, ".d.ts");
  const text = await readFile(types, "utf8");
  await writeFile(join(folder, `${bundledTypes.file}.d.ts`), text.replace(/^\s*\/\*\*[\s\S]*?\*\/\n|^\/\/.*\n?/gm, ""));
}

/** Removes the declarations that none of these needs. */
async function removeUnseen(folder: string, types: readonly string[]): Promise<void> {
  const seen = new Set(types.map((file) => join(folder, file)));
  for (const file of seen) {
    const text = await readFile(file, "utf8");
    for (const [, specifier = ""] of text.matchAll(/\b(?:from|import)\s*\(?\s*"(\.[^"]+)\.js"/g))
      seen.add(join(dirname(file), `${specifier}.d.ts`));
  }
  for await (const file of glob("**/*.d.ts", { cwd: folder }))
    if (!seen.has(join(folder, file))) await rm(join(folder, file));
}
