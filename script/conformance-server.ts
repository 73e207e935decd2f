/**
 * Runs the official server conformance suite of MCP against a served Toolkit: with its fixtures as builtins, and in front of a connector to
 * these in either era; each for what both eras require. A scenario that fails must stand in the baseline with its reason, and one that stands
 * there and passes must go.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parse } from "yaml";
import { commandOf, project } from "./support/project.ts";
import { run } from "./support/run.ts";

const limitMs = 120_000;
/** So many scenarios each revision requires at least: a suite that ran nothing proves nothing. */
const revisions = { "2025-11-25": 30, "2026-07-28": 40 } as const;
type Revision = keyof typeof revisions;
/** The served toolkits, and the revisions for which each is tried. */
const modes: readonly (readonly [mode: string, revisions: readonly Revision[]])[] = [
  ["builtins", ["2025-11-25", "2026-07-28"]],
  ["2025-11-25", ["2026-07-28"]],
  ["2026-07-28", ["2025-11-25", "2026-07-28"]],
];
const program = await commandOf(import.meta.resolve("@modelcontextprotocol/conformance/package.json"), "conformance");
const baseline = join(project, "test/conformance/expected-failures.yml");
const { server: listed } = parse(await readFile(baseline, "utf8")) as { readonly server: readonly string[] | null };
const expected = new Set(listed ?? []);

for (const [mode, wanted] of modes) {
  const server = spawn(process.execPath, [join(project, "test/conformance/server.ts"), mode], {
    cwd: project,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [url] = (await once(createInterface(server.stdout), "line")) as [string];
  for (const revision of wanted) await check(mode === "builtins" ? mode : `a server of ${mode}`, url, revision);
  server.stdin.end();
}

async function check(what: string, url: string, revision: Revision): Promise<void> {
  const args = [program, "server", "--url", url, "--requirements", revision];
  const { output, stdout } = await run(process.execPath, args, { cwd: project, env: process.env, timeoutMs: limitMs });
  const namesOf = (pattern: RegExp) => [...stdout.matchAll(pattern)].map(([, scenario = ""]) => scenario);
  // Extensions are run too. None is announced.
  const extensions = new Set(namesOf(/^\s+[✓✗] (\S+) \(extension\)/gm));
  const isRequired = (scenario: string) => !extensions.has(scenario);
  const failed = namesOf(/^✗ (\S+):/gm).filter(isRequired);
  const passed = namesOf(/^✓ (\S+):/gm).filter(isRequired);
  const known = failed.filter((scenario) => expected.has(scenario));
  const wrong = [
    ...failed.filter((scenario) => !expected.has(scenario)).map((scenario) => `${scenario} fails`),
    ...passed
      .filter((scenario) => expected.has(scenario))
      .map((scenario) => `${scenario} passes: take it out of the baseline`),
  ];
  if (passed.length + known.length < revisions[revision]) wrong.push("too few scenarios ran");
  if (wrong.length > 0) {
    console.error(`${what}, ${revision}: ${wrong.join(", ")}\n${output.trimEnd()}`);
    process.exitCode = 1;
  } else {
    const others = known.length === 0 ? "" : `, ${known.join(", ")} not`;
    console.log(`Served ${what}: ${passed.length} server scenarios of ${revision} pass${others}.`);
  }
}
