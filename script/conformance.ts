/**
 * Runs every scenario of the official client conformance suite of MCP against the built Toolkit, one at a time, for some measure time.
 * A check that fails must stand in the baseline with its reason; one that stands there and passes must go. A name as argument runs only that one.
 */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { parse } from "yaml";
import { commandOf, project } from "./support/project.ts";
import { type RunResult, run, seconds } from "./support/run.ts";
import { table } from "./support/table.ts";

const baseline = join(project, "test/conformance/expected-failures.yml");
const limitMs = 40_000;
// Whether it waits as long as it is told to is a matter of 200 ms, which a busy machine may take: it gets three chances.
const timed: ReadonlySet<string> = new Set(["sse-retry"]);
// The scenarios that the suite itself leaves out of `--suite core`: revisions that are no longer or not yet in force, and extensions.
const beyondCore: ReadonlySet<string> = new Set(["2025-03-26", "2026-07-28", "draft", "extension"]);

const program = await commandOf(import.meta.resolve("@modelcontextprotocol/conformance/package.json"), "conformance");
// The suite cuts the command at its blanks: the Node that runs this is found by its name.
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}` };
const conformance = (args: readonly string[]): Promise<RunResult> =>
  run(process.execPath, [program, ...args], { cwd: project, env, timeoutMs: limitMs });

// Scenarios of the next revision run over the protocol that we speak, as far as they can.
const spoken = ["--spec-version", "2025-11-25", "--force"];

async function passes(scenario: string, versions: readonly string[]): Promise<boolean> {
  const version = versions.includes("2026-07-28") ? spoken : [];
  for (let chances = timed.has(scenario) ? 3 : 1; ; chances--) {
    const result = await conformance([
      "client",
      "--command",
      "node test/conformance/client.ts",
      "--scenario",
      scenario,
      ...version,
    ]);
    if (result.failure === undefined) return true;
    if (chances > 1) continue;
    if (!expected.has(scenario)) console.error(`${scenario} ${result.failure}\n${result.output.trimEnd()}\n`);
    return false;
  }
}

const { client } = parse(await readFile(baseline, "utf8")) as { readonly client: readonly string[] | null };
const expected = new Set(client ?? []);
const [only] = process.argv.slice(2);
const started = performance.now();
const listed = (await conformance(["list", "--client"])).stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm);
const outcomes: { readonly core: boolean; readonly passed: boolean; readonly failure: string | undefined }[] = [];
for (const [, scenario = "", list = ""] of listed) {
  const versions = list.split(",");
  if (only !== undefined && scenario !== only) continue;
  const passed = await passes(scenario, versions);
  const known = expected.delete(scenario);
  const failure =
    passed === known
      ? `${scenario} ${passed ? "passes: take it out of" : "fails and is not in"} the baseline`
      : undefined;
  outcomes.push({ core: versions.some((version) => !beyondCore.has(version)), passed, failure });
}

const failures = outcomes.flatMap(({ failure }) => failure ?? []);
// A suite that ran nothing proves nothing.
if (outcomes.length === 0) failures.push(`there is no scenario ${only ?? "at all"}`);
if (only === undefined)
  failures.push(...[...expected].map((scenario) => `${scenario} is in the baseline, and no scenario`));
const rows = (["core", "all"] as const).map((suite) => {
  const ran = outcomes.filter(({ core }) => core || suite === "all");
  const passed = ran.filter((outcome) => outcome.passed).length;
  return [suite, String(ran.length), String(passed), String(ran.length - passed)];
});
console.log(table(["suite", "ran", "passed", "failed"], rows, { right: ["ran", "passed", "failed"] }));
console.log(
  `${failures.length === 0 ? "As expected" : failures.join("\n")}, after ${seconds(performance.now() - started)}.`,
);
if (failures.length > 0) process.exitCode = 1;
