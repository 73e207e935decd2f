import { cp, glob, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { rolldown } from "rolldown";

/**
 * Makes of the many modules a compiler gave as few as the entries need: a module costs as much to find and to link as to run, and there are
 * hundreds. What several entries share stays one module, so that there is one of each class. The declarations stay as they are.
 *
 * @param entries - files of the folder, relative to it
 */
export async function bundle(folder: string, entries: readonly string[]): Promise<void> {
  const input = Object.fromEntries(entries.map((entry) => [entry.replace(/\.js$/, ""), join(folder, entry)]));
  const temporary = await mkdtemp(`${folder}-`);
  try {
    const bundled = await rolldown({
      input,
      platform: "node",
      // Every package is the user's: it is found where they installed it.
      external: (id) => !/^[./]/.test(id),
      logLevel: "warn",
    });
    await bundled.write({ dir: temporary, format: "esm", chunkFileNames: "chunks/[name]-[hash].js" });
    await bundled.close();
    for await (const file of glob("**/*.js", { cwd: folder })) await rm(join(folder, file));
    await cp(temporary, folder, { recursive: true });
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}
