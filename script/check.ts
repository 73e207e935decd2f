/** Runs every `check:*` script of package.json to its end and shows the output of those that fail. */
import { project, readManifest } from "./support/project.ts";
import { run, seconds } from "./support/run.ts";

const { scripts } = await readManifest();
const names = Object.keys(scripts).filter((name) => name.startsWith("check:"));
const failed: string[] = [];
for (const name of names) {
  const result = await run("npm", ["run", "--silent", name], { cwd: project, timeoutMs: 180_000 });
  console.log(`${result.failure === undefined ? "ok    " : "failed"}  ${name}  ${seconds(result.durationMs)}`);
  if (result.failure === undefined) continue;
  failed.push(name);
  console.log(result.output.replace(/^/gm, "  ").trimEnd());
}
if (failed.length > 0) {
  console.error(`\n${failed.length} of ${names.length} checks failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}
