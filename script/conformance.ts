/**
 * Runs the official client conformance suite of MCP against the built Toolkit: the required scenarios, then all. What fails must stand
 * in the baseline with its reason; what stands there and passes must go.
 */
import { dirname, join } from "node:path";
import { commandOf, project } from "./support/project.ts";
import { run, seconds } from "./support/run.ts";
import { table } from "./support/table.ts";

const baseline = join(project, "test/conformance/expected-failures.yml");
const limitMs = 150_000;

const conformance = await commandOf(
  import.meta.resolve("@modelcontextprotocol/conformance/package.json"),
  "conformance",
);
// The suite cuts the command at its blanks: the Node that runs this is found by its name.
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}` };
const rows: string[][] = [];
for (const suite of ["core", "all"]) {
  const args = ["client", "--command", "node test/conformance/client.ts", "--suite", suite];
  const result = await run(process.execPath, [conformance, ...args, "--expected-failures", baseline], {
    cwd: project,
    env,
    timeoutMs: limitMs,
  });
  const passed = result.stdout.match(/^✓ \S+: \d+ passed/gm)?.length ?? 0;
  const scenarios = result.stdout.match(/^[✓✗] \S+: \d+ passed/gm)?.length ?? 0;
  const expected = result.stdout.match(/^ {2}~ \S+$/gm) ?? [];
  // A suite that ran nothing proves nothing.
  const failure = result.failure ?? (scenarios === 0 ? "ran no scenario" : undefined);
  if (failure !== undefined) {
    console.error(`The suite ${suite} ${failure}\n${result.output}`);
    process.exitCode = 1;
  }
  rows.push([suite, `${passed} of ${scenarios}`, String(expected.length), failure ?? "ok", seconds(result.durationMs)]);
}
console.log(table(["suite", "passed", "expected failures", "result", "time"], rows, { right: ["time"] }));
