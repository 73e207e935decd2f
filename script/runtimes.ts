/**
 * Runs the suite on the oldest version of Node that the package supports, and on the next one. Node 22.13 runs the sources with a flag, which
 * reaches no server that is started as a child process: the mode `flagged` leaves out the files whose servers are sources.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { commandOf, project } from "./support/project.ts";
import { run, seconds } from "./support/run.ts";

const versions: readonly { readonly version: string; readonly options: string; readonly args: readonly string[] }[] = [
  {
    version: "22.13.0",
    options: "--experimental-strip-types --disable-warning=ExperimentalWarning",
    args: ["--project", "unit", "--mode", "flagged"],
  },
  { version: "26", options: "", args: [] },
];

const vitest = await commandOf(import.meta.resolve("vitest/package.json"), "vitest");
const only = process.argv.slice(2);
for (const { version, options, args } of versions) {
  if (only.length > 0 && !only.includes(version)) continue;
  const home = await mkdtemp(join(tmpdir(), "toolweave-node-"));
  try {
    const installed = await run("npm", ["install", "--prefix", home, "--no-audit", "--no-fund", `node@${version}`]);
    if (installed.failure !== undefined) {
      console.log(`skipped  Node ${version} cannot be installed: ${installed.failure}`);
      continue;
    }
    const node = join(home, "node_modules", ".bin", "node");
    const env = {
      ...process.env,
      NODE_OPTIONS: options,
      PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ""}`,
    };
    const result = await run(node, [vitest, "run", ...args], { cwd: project, env, timeoutMs: 1_800_000 });
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
