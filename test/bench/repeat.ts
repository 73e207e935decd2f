import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { project } from "../../script/support/project.ts";
import { amount, type Bench, type Comparison, judgedRows, medianOf, shownRatio, type Timing } from "./harness.ts";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
const resultsFile = fileURLToPath(new URL("results.json", import.meta.url));

/** Runs some benches several times, each time in a process of its own, and gives the medians of each. */
export async function repeated(
  names: readonly string[],
  passed: readonly string[],
  runs: number,
): Promise<ReadonlyMap<string, readonly Comparison[]>> {
  const found = new Map<string, (readonly Comparison[])[]>(names.map((name) => [name, []]));
  for (let run = 1; run <= runs; run += 1) {
    for (const [name, all] of found) {
      console.error(`${name}, run ${run} of ${runs}`);
      all.push(await runApart(name, passed));
    }
  }
  return new Map([...found].map(([name, all]) => [name, mediansOf(all)]));
}

/** Runs a bench in a process of its own. @throws Error where that fails */
async function runApart(name: string, passed: readonly string[]): Promise<readonly Comparison[]> {
  const child = spawn(process.execPath, [main, name, ...passed], { stdio: ["ignore", "ignore", "inherit"] });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`The bench ${name} ended with ${code}.`);
  const { rows } = JSON.parse(await readFile(join(project, ".bench", `${name}.json`), "utf8"));
  return rows;
}

/** The rows of several runs of a bench as one: medians, with the ratio of each run. */
function mediansOf(runs: readonly (readonly Comparison[])[]): readonly Comparison[] {
  const [first = []] = runs;
  return first.map((row, at) => {
    const same = runs.flatMap((rows) => rows[at] ?? []);
    const ours = medianTiming(same.map((each) => each.ours));
    if (row.peer === undefined) return { ...row, ours };
    const timing = medianTiming(same.flatMap((each) => each.peer?.timing ?? []));
    const ratios = same.flatMap((each) => (each.peer === undefined ? [] : each.ours.p50 / each.peer.timing.p50));
    return { ...row, ours, peer: { name: row.peer.name, timing }, ratios };
  });
}

function medianTiming(timings: readonly Timing[]): Timing {
  const median = (of: keyof Timing): number => medianOf(timings.map((timing) => timing[of]));
  return { p50: median("p50"), p99: median("p99"), samples: median("samples") };
}

/** Writes the results of a bench to results.json, in the place of those that are there. `npm run docs` shows them. */
export async function keep(
  bench: Bench,
  comparisons: readonly Comparison[],
  { passed, runs }: { readonly passed: readonly string[]; readonly runs: number },
): Promise<void> {
  const rows = judgedRows(bench, comparisons).map((row) => ({
    name: row.name,
    ours: amount(row.ours.p50, row.unit),
    peer: row.peer === undefined ? "" : `${row.peer.name}: ${amount(row.peer.timing.p50, row.unit)}`,
    ratio: shownRatio(row),
    must: row.must ?? "",
    reach: row.reach ?? "",
    verdict: row.verdict,
  }));
  const results = JSON.parse(await readFile(resultsFile, "utf8").catch(() => "{}"));
  const name = [bench.name, ...passed.map((each) => (each.includes("/") ? "FOLDER" : each))].join(" ");
  const date = new Date().toISOString().slice(0, 10);
  results[name] = { date, node: process.version, cores: cpus().length, runs, rows };
  await writeFile(resultsFile, `${JSON.stringify(results, null, 2)}\n`);
}
