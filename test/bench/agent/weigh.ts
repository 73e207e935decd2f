/** Runs one side many times at once, in a process of its own; prints what it took as JSON. */
import { readFileSync } from "node:fs";
import { type SideOptions, sides } from "./sides.ts";

/** The runs to measure. */
export interface Load extends SideOptions {
  readonly side: string;
  readonly atOnce: number;
  readonly runs: number;
  /** The number of pieces of each answer. */
  readonly pieces: number;
}

/** The cost, for each run where not said otherwise; times in microseconds. */
export interface Cost {
  /** The most memory the process ever had, in bytes. */
  readonly peakBytes: number;
  readonly cpu: number;
  /** Of the whole time, its share: the throughput, turned over. */
  readonly wall: number;
  /** From the beginning of a run to the first piece of its answer: the median. */
  readonly firstText: number;
}

const load: Load = JSON.parse(process.argv[2] ?? "{}");
const run = await sides[load.side]?.(load);
if (run === undefined) throw new Error(`There is no side ${load.side}.`);
// Code that is compiled and connections that are made once are no cost of a run.
await all(Math.min(load.atOnce, 20), Math.min(load.runs, 20));
const cpuBefore = process.cpuUsage();
const began = performance.now();
const firstTexts = await all(load.atOnce, load.runs);
const wallMs = performance.now() - began;
const { user, system } = process.cpuUsage(cpuBefore);
const cost: Cost = {
  peakBytes: peakBytes(),
  cpu: (user + system) / load.runs,
  wall: (wallMs * 1_000) / load.runs,
  firstText: (firstTexts.toSorted((a, b) => a - b)[Math.floor(firstTexts.length / 2)] ?? Number.NaN) * 1_000,
};
process.stdout.write(JSON.stringify(cost), () => process.exit(0));

async function all(atOnce: number, runs: number): Promise<readonly number[]> {
  const times: number[] = [];
  let left = runs;
  const work = async () => {
    while (left > 0) {
      left -= 1;
      times.push(await once());
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return times;
}

/** The time until the first piece, in milliseconds. */
async function once(): Promise<number> {
  const started = performance.now();
  let firstMs: number | undefined;
  let text = "";
  await run?.((piece) => {
    firstMs ??= performance.now() - started;
    text += piece;
  });
  // A side that gives less than it should would look fast.
  if (firstMs === undefined || !text.trimEnd().endsWith(`word${load.pieces - 1}`))
    throw new Error(`The answer is not whole: ${JSON.stringify(text)}.`);
  return firstMs;
}

/** Linux counts what a process had before it became this program in `maxRSS`, which was its parent. */
function peakBytes(): number {
  try {
    const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
    if (kilobytes !== undefined) return Number(kilobytes) * 1_024;
  } catch {}
  return process.resourceUsage().maxRSS * 1_024;
}
