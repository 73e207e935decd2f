import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** The results of a bench, as `npm run bench -- --keep` writes them. */
interface BenchResults {
  readonly date: string;
  readonly node: string;
  readonly cores: number;
  readonly runs: number;
  readonly rows: readonly Readonly<Record<"name" | "ours" | "peer" | "ratio" | "must" | "reach" | "verdict", string>>[];
}

/** A table for each bench whose results are kept. */
export async function benchTables(project: string): Promise<string> {
  const kept: Readonly<Record<string, BenchResults>> = JSON.parse(
    await readFile(join(project, "test/bench/results.json"), "utf8"),
  );
  return Object.entries(kept).map(tableOf).join("\n\n");
}

function tableOf([name, { date, node, cores, runs, rows }]: [string, BenchResults]): string {
  const made = `${runs === 1 ? "One run" : `Medians of ${runs} runs`}, ${date}, Node ${node.slice(1)}, ${cores} cores.`;
  const lines = rows.map(
    ({ name, ours, peer, ratio, must, reach, verdict }) =>
      `| ${name} | ${ours} | ${peer} | ${ratio} | ${must} | ${reach} | ${verdict} |`,
  );
  return [
    `### ${name}`,
    "",
    made,
    "",
    "| | ours | beside | ratio | must | reach for | |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...lines,
  ].join("\n");
}
