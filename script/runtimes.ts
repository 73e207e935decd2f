/**
 * Runs the suite on the oldest version of Node that the package supports, and on the next one. Arguments choose a version, and test files
 * as Vitest does.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { compilingNode } from "./support/compiling-node.ts";
import { commandOf, project } from "./support/project.ts";
import { run, seconds } from "./support/run.ts";

/** The versions, and whether each runs the sources as they are: Node 22 knows neither types nor `using`. */
const versions: Readonly<Record<string, { readonly runsSources: boolean }>> = {
  "22.13.0": { runsSources: false },
  "26": { runsSources: true },
};

const vitest = await commandOf(import.meta.resolve("vitest/package.json"), "vitest");
const given = process.argv.slice(2);
const only = given.filter((name) => name in versions);
const files = given.filter((name) => !(name in versions));
for (const [version, { runsSources }] of Object.entries(versions)) {
  if (only.length > 0 && !only.includes(version)) continue;
  const home = await mkdtemp(join(tmpdir(), "toolweave-node-"));
  try {
    const installed = await run("npm", ["install", "--prefix", home, "--no-audit", "--no-fund", `node@${version}`]);
    if (installed.failure !== undefined) {
      console.log(`skipped  Node ${version} cannot be installed: ${installed.failure}`);
      continue;
    }
    const plain = join(home, "node_modules", "node", "bin", "node");
    const node = runsSources ? plain : await compilingNode(plain, join(home, "compiled"));
    const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ""}` };
    const result = await run(node, [vitest, "run", ...files], { cwd: project, env, timeoutMs: 1_800_000 });
    console.log(
      `${result.failure === undefined ? "ok    " : "failed"}  Node ${version}  ${seconds(result.durationMs)}`,
    );
    if (result.failure === undefined) continue;
    console.log(result.output);
    process.exitCode = 1;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}
