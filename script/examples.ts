/** Runs every example; each checks its own result and exits non-zero when it is wrong. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { project } from "./support/project.ts";
import { run, seconds } from "./support/run.ts";
import { table } from "./support/table.ts";

const limitMs = 60_000;

const examples: string[] = [];
for (const entry of await readdir(join(project, "example"), { withFileTypes: true })) {
  if (!entry.isDirectory()) continue;
  const files = await readdir(join(entry.parentPath, entry.name));
  if (files.includes("main.ts")) examples.push(`example/${entry.name}/main.ts`);
}
if (examples.length === 0) throw new Error("There is no example/*/main.ts to run.");

const rows: string[][] = [];
let failed = 0;
for (const example of examples.sort()) {
  const result = await run(process.execPath, [example], { cwd: project, timeoutMs: limitMs });
  if (result.failure !== undefined) {
    failed += 1;
    console.error(`${example} ${result.failure}\n${result.output}`);
  }
  rows.push([example, result.failure ?? "ok", seconds(result.durationMs)]);
}
console.log(table(["example", "result", "time"], rows, { right: ["time"] }));
if (failed > 0) process.exitCode = 1;
