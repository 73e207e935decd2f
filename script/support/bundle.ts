import { cp, glob, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { type InputOptions, rolldown } from "rolldown";

/**
 * Makes of the many modules a compiler gave as few as the entries need: a module costs as much to find and to link as to run, and there are
 * hundreds. What several entries share stays one module, so that there is one of each class. The declarations stay as they are.
 *
 * The libraries that Node loads at their first use are imported as `#libraries`: package.json gives bundlers another file for that name.
 *
 * @param entries - files of the folder, relative to it
 */
export async function bundle(folder: string, entries: readonly string[]): Promise<void> {
  const temporary = await mkdtemp(`${folder}-`);
  try {
    await writeModules(folder, entries, temporary);
    for await (const file of glob("**/*.js", { cwd: folder })) await rm(join(folder, file));
    await cp(temporary, folder, { recursive: true });
    for await (const file of glob("**/*.d.ts", { cwd: folder })) await importCompiled(join(folder, file));
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Writes the modules of the package that these files, relative to the folder, need; the sources serve as well as what was compiled. */
export async function writeModules(folder: string, entries: readonly string[], target: string): Promise<void> {
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
  await bundled.write({
    dir: target,
    format: "esm",
    chunkFileNames: "chunks/[name]-[hash].js",
    codeSplitting: { groups },
  });
  await bundled.close();
}

const options: InputOptions = {
  platform: "node",
  // Every package is the user's: it is found where they installed it.
  external: (id) => !/^[./]/.test(id),
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

/** The compiler leaves `.ts` in the imports of declarations, which not every tool of a user resolves. */
async function importCompiled(file: string): Promise<void> {
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace(/(\b(?:from|import)\s*\(?\s*"\.[^"]*)\.ts"/g, '$1.js"'));
}
