/** Compiles src into dist, from nothing, and makes sure that everything package.json promises is there. */
import { access, chmod, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { bundle } from "./support/bundle.ts";
import { writePage } from "./support/page.ts";
import { commandOf, exportTargets, moduleEntries, project, readManifest } from "./support/project.ts";
import { run, seconds } from "./support/run.ts";

const startedAt = performance.now();
await rm(join(project, "dist"), { recursive: true, force: true });
const manifest = await readManifest();
const tsc = await commandOf(import.meta.resolve("typescript-7/package.json"), "tsc");
const compiled = await run(process.execPath, [tsc, "-p", "tsconfig.build.json"], { cwd: project });
const problems: string[] = [];
if (compiled.failure !== undefined) problems.push(`tsc ${compiled.failure}\n${compiled.output}`);

if (problems.length === 0) {
  const types = exportTargets(manifest).filter((target) => target.endsWith(".d.ts"));
  const files = { entries: moduleEntries(manifest), types: types.map((target) => target.replace("./dist/", "")) };
  await bundle(join(project, "dist"), files);
  await writePage(join(project, "dist", "inspect", "page"));
}

for (const target of exportTargets(manifest)) {
  const exists = await access(join(project, target)).then(
    () => true,
    () => false,
  );
  if (!exists) problems.push(`package.json exports ${target}, which the build did not make.`);
}

for (const [command, target] of Object.entries(manifest.bin ?? {})) {
  const text = await readFile(join(project, target), "utf8").catch(() => "");
  if (text.startsWith("#!/usr/bin/env node\n")) await chmod(join(project, target), 0o755);
  else problems.push(`The command ${command} (${target}) is missing or does not begin with #!/usr/bin/env node.`);
}

if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exitCode = 1;
} else {
  console.log(`Built dist in ${seconds(performance.now() - startedAt)}.`);
}
