import { cp, mkdir, mkdtemp, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { writeModules } from "../../script/support/bundle.ts";
import { moduleEntries, project, readManifest } from "../../script/support/project.ts";

/** A folder of a user: the package, made from the sources, is in its `node_modules`, with the dependencies that it declares. */
export async function installedPackage(): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "toolweave-installed-"));
  const manifest = await readManifest();
  const modules = join(folder, "node_modules");
  const target = join(modules, manifest.name);
  await mkdir(target, { recursive: true });
  await cp(join(project, "package.json"), join(target, "package.json"));
  const sources = moduleEntries(manifest).map((entry) => entry.replace(/\.js$/, ".ts"));
  await writeModules(join(project, "src"), sources, join(target, "dist"));
  for (const dependency of Object.keys(manifest.dependencies)) {
    await mkdir(dirname(join(modules, dependency)), { recursive: true });
    await symlink(join(project, "node_modules", dependency), join(modules, dependency), "junction");
  }
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) };
}
