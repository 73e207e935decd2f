/**
 * Runs every `check:*` script of package.json to its end, as many at a time as there are processors, and shows the output of those that
 * fail. They begin in the order of package.json: there the long ones are first.
 */
import { availableParallelism } from "node:os";
import { delimiter, join } from "node:path";
import { project, readManifest } from "./support/project.ts";
import { run, seconds } from "./support/run.ts";

const { scripts } = await readManifest();
const names = Object.keys(scripts).filter((name) => name.startsWith("check:"));
const failed: string[] = [];
const waiting = [...names];
const env = {
  ...process.env,
  PATH: `${join(project, "node_modules", ".bin")}${delimiter}${process.env.PATH ?? ""}`,
  // Most of them load the same libraries, in many processes.
  NODE_COMPILE_CACHE: join(project, "node_modules", ".cache", "compiled"),
};
await Promise.all(Array.from({ length: availableParallelism() }, checkNext));
if (failed.length > 0) {
  console.error(`\n${failed.length} of ${names.length} checks failed: ${failed.join(", ")}`);
  process.exitCode = 1;
}

async function checkNext(): Promise<void> {
  for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
    // By the shell itself: each start of npm costs as much as a short check.
    const result = await run("sh", ["-c", scripts[name] ?? ""], { cwd: project, env, timeoutMs: 180_000 });
    console.log(`${result.failure === undefined ? "ok    " : "failed"}  ${name}  ${seconds(result.durationMs)}`);
    if (result.failure === undefined) continue;
    failed.push(name);
    console.log(result.output.replace(/^/gm, "  ").trimEnd());
  }
}
