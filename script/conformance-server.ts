/**
 * Runs the official server conformance suite of MCP against a served Toolkit: once with its fixtures as builtins, and once in front of a
 * connector to these. Every scenario that the revision requires must pass, those that were added since too.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { commandOf, project } from "./support/project.ts";
import { run } from "./support/run.ts";

const revision = "2025-11-25";
const limitMs = 120_000;
const program = await commandOf(import.meta.resolve("@modelcontextprotocol/conformance/package.json"), "conformance");

for (const mode of ["builtins", "proxied"]) {
  const server = spawn(process.execPath, [join(project, "test/conformance/server.ts"), mode], {
    cwd: project,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [url] = (await once(createInterface(server.stdout), "line")) as [string];
  const args = [program, "server", "--url", url, "--requirements", revision];
  const { output, stdout } = await run(process.execPath, args, { cwd: project, env: process.env, timeoutMs: limitMs });
  server.stdin.end();
  const [, total = ""] = /^Total: (.*)$/m.exec(stdout) ?? [];
  const failed = [...stdout.matchAll(/^\s*✗ (\S+):/gm)].map(([, scenario]) => scenario);
  const passed = [...stdout.matchAll(/^✓ (\S+):/gm)].length;
  // A suite that ran nothing proves nothing.
  if (passed < 30 || failed.length > 0) {
    console.error(`${mode}: ${failed.join(", ") || "too few scenarios ran"}\n${output.trimEnd()}`);
    process.exitCode = 1;
  } else console.log(`Served ${mode}: ${passed} server scenarios of ${revision} pass, ${total}.`);
}
