/** Runs the suite on the oldest version of Node that the package supports, and on the next one. */
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { commandOf, project } from "./support/project.ts";
import { run, seconds } from "./support/run.ts";

/** The flags with which a version runs the sources. */
const versions: Readonly<Record<string, readonly string[]>> = {
  "22.13.0": ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"],
  "26": [],
};

const vitest = await commandOf(import.meta.resolve("vitest/package.json"), "vitest");
const only = process.argv.slice(2);
for (const [version, flags] of Object.entries(versions)) {
  if (only.length > 0 && !only.includes(version)) continue;
  const home = await mkdtemp(join(tmpdir(), "toolweave-node-"));
  try {
    const installed = await run("npm", ["install", "--prefix", home, "--no-audit", "--no-fund", `node@${version}`]);
    if (installed.failure !== undefined) {
      console.log(`skipped  Node ${version} cannot be installed: ${installed.failure}`);
      continue;
    }
    const node = await withFlags(join(home, "node_modules", "node", "bin", "node"), flags, join(home, "bin"));
    const env = { ...process.env, PATH: `${dirname(node)}${delimiter}${process.env.PATH ?? ""}` };
    const result = await run(node, [vitest, "run"], { cwd: project, env, timeoutMs: 1_800_000 });
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

/**
 * A program that runs a Node with flags, and every child process that is started by `process.execPath` too: servers of tests are such
 * children, and a connector passes no NODE_OPTIONS on to them.
 */
async function withFlags(node: string, flags: readonly string[], folder: string): Promise<string> {
  if (flags.length === 0) return node;
  const program = join(folder, "node");
  const preload = join(folder, "exec-path.cjs");
  const quoted = [node, ...flags, "--require", preload].map((text) => `'${text.replaceAll("'", "'\\''")}'`);
  await mkdir(folder);
  await writeFile(preload, `process.execPath = ${JSON.stringify(program)};\n`);
  await writeFile(program, `#!/bin/sh\nexec ${quoted.join(" ")} "$@"\n`);
  await chmod(program, 0o755);
  return program;
}
