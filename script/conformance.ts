/**
 * Runs every scenario of the official client conformance suite of MCP against the built Toolkit, in each revision that requires it, one at a
 * time, for some measure time. A check that fails must stand in the baseline with its reason; one that stands there and passes must go. A name as argument runs only that one.
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
/** The revisions whose requirements are met, one of each era. A scenario of both runs in both. */
const revisions = ["2025-11-25", "2026-07-28"] as const;

const program = await commandOf(import.meta.resolve("@modelcontextprotocol/conformance/package.json"), "conformance");
// The suite cuts the command at its blanks: the Node that runs this is found by its name.
const env = { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH ?? ""}` };
const conformance = (args: readonly string[]): Promise<RunResult> =>
  run(process.execPath, [program, ...args], { cwd: project, env, timeoutMs: limitMs });

async function passes(scenario: string, revision: string | undefined): Promise<boolean> {
  const version = revision === undefined ? [] : ["--spec-version", revision];
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
    if (!expected.has(scenario))
      console.error(`${scenario} ${revision ?? ""} ${result.failure}\n${result.output.trimEnd()}\n`);
    return false;
  }
}

const { client } = parse(await readFile(baseline, "utf8")) as { readonly client: readonly string[] | null };
const expected = new Set(client ?? []);
const [only] = process.argv.slice(2);
const started = performance.now();
const listed = (await conformance(["list", "--client"])).stdout.matchAll(/^ {2}- (\S+) \[(.*)\]$/gm);
const outcomes: { readonly suite: string; readonly passed: boolean; readonly failure: string | undefined }[] = [];
const beyond = "extensions and earlier";
const ran = new Set<string>();
for (const [, scenario = "", list = ""] of listed) {
  const versions = list.split(",");
  if (only !== undefined && scenario !== only) continue;
  const required = revisions.filter((revision) => versions.includes(revision));
  for (const revision of required.length === 0 ? [undefined] : required) {
    const passed = await passes(scenario, revision);
    const known = expected.has(scenario);
    const how = passed ? "passes: take it out of" : "fails and is not in";
    const failure = passed === known ? `${scenario} ${revision ?? ""} ${how} the baseline` : undefined;
    outcomes.push({ suite: revision ?? beyond, passed, failure });
  }
  ran.add(scenario);
}

const failures = outcomes.flatMap(({ failure }) => failure ?? []);
// A suite that ran nothing proves nothing.
if (outcomes.length === 0) failures.push(`there is no scenario ${only ?? "at all"}`);
if (only === undefined)
  failures.push(
    ...[...expected]
      .filter((scenario) => !ran.has(scenario))
      .map((scenario) => `${scenario} is in the baseline, and no scenario`),
  );
const rows = [...revisions, beyond].map((suite) => {
  const of = outcomes.filter((outcome) => outcome.suite === suite);
  const passed = of.filter((outcome) => outcome.passed).length;
  return [suite, String(of.length), String(passed), String(of.length - passed)];
});
console.log(table(["suite", "ran", "passed", "failed"], rows, { right: ["ran", "passed", "failed"] }));
console.log(
  `${failures.length === 0 ? "As expected" : failures.join("\n")}, after ${seconds(performance.now() - started)}.`,
);
if (failures.length > 0) process.exitCode = 1;
