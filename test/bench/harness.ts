import { mkdir, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";

/** One of the things compared: an operation, done again and again. */
export type Operation = () => unknown;

/** The time of an operation, in microseconds; or, where a comparison says so, how much memory something takes, in bytes. */
export interface Timing {
  readonly p50: number;
  readonly p99: number;
  /** The number of samples of the percentiles; each is one operation, or the mean of a batch of very short ones. */
  readonly samples: number;
}

/** The target: a ratio to the peer, or so much of what is measured. Lower is better, except of a share. */
export interface Target {
  readonly of: "ratio" | Unit;
  readonly must?: number;
  readonly reach?: number;
}

/** The subject of a measurement. */
export type Unit = "microseconds" | "bytes" | "share";

/** One row of a bench: ours beside the peer, and beside a target of the bench by its name. */
export interface Comparison {
  readonly name: string;
  readonly target?: string;
  /** Default: microseconds. */
  readonly unit?: Unit;
  readonly ours: Timing;
  /** The peer that ours is measured against. */
  readonly peer?: { readonly name: string; readonly timing: Timing };
  /** The ratio of each of several runs, where the timings are the medians of theirs. */
  readonly ratios?: readonly number[];
}

/** A bench: a file that exports one. It asserts no time; it shows the numbers beside the targets. */
export interface Bench {
  readonly name: string;
  readonly targets: Readonly<Record<string, Target>>;
  /** The profiles that can be measured instead. */
  readonly profiles?: readonly string[];
  /** @param done - is called with each comparison as it is made, where a bench takes long */
  run(profile?: string, done?: (comparison: Comparison) => void): Promise<readonly Comparison[]>;
}

/** The extent of a measurement. */
export interface Effort {
  /** Each side once per round. Default: 20. */
  readonly rounds?: number;
  /** The time for which one side is measured in a round, in milliseconds. Default: 50. */
  readonly roundMs?: number;
  /** The time for which each side runs before anything is measured. Default: 300. */
  readonly warmUpMs?: number;
}

/** Operations shorter than this, in microseconds, are measured in batches, so that reading the clock does not count. */
const batchUs = 20;

/** Measures sides in turns, so that whatever else the machine does meets all of them alike. */
export async function measure<Side extends string>(
  sides: Readonly<Record<Side, Operation>>,
  effort: Effort = {},
): Promise<Readonly<Record<Side, Timing>>> {
  const { rounds = 20, roundMs = 50, warmUpMs = 300 } = effort;
  const prepared = [];
  for (const [name, operation] of Object.entries<Operation>(sides)) {
    await runFor(operation, warmUpMs, 1);
    prepared.push({ name, operation, batch: await batchSize(operation), samples: [] as number[] });
  }
  for (let round = 0; round < rounds; round += 1) {
    // Every second round backwards: no side always runs after the same other one.
    for (const side of round % 2 === 0 ? prepared : prepared.toReversed()) {
      side.samples.push(...(await runFor(side.operation, roundMs, side.batch)));
    }
  }
  return Object.fromEntries(prepared.map(({ name, samples }) => [name, timingOf(samples)])) as Record<Side, Timing>;
}

/** The remains of an operation that is measured once per round, to be cleaned up. */
export type CleanUp = () => unknown;

/**
 * Measures sides that are too long, or leave too much behind, to be repeated at will: each once per round, in turns. What a side
 * returns is called, unmeasured, before the next one begins.
 */
export async function measureOnce<Side extends string>(
  sides: Readonly<Record<Side, () => CleanUp | Promise<CleanUp>>>,
  rounds: number,
): Promise<Readonly<Record<Side, Timing>>> {
  const entries = Object.entries<() => CleanUp | Promise<CleanUp>>(sides);
  const samples = new Map(entries.map(([name]) => [name, [] as number[]]));
  // The first two rounds warm up: code is compiled, files are in the cache.
  for (let round = -2; round < rounds; round += 1) {
    for (const [name, side] of round % 2 === 0 ? entries : entries.toReversed()) {
      const started = process.hrtime.bigint();
      const cleanUp = await side();
      const took = Number(process.hrtime.bigint() - started) / 1000;
      await cleanUp();
      if (round >= 0) samples.get(name)?.push(took);
    }
  }
  return Object.fromEntries([...samples].map(([name, all]) => [name, timingOf(all)])) as Record<Side, Timing>;
}

/** The middle one of some numbers; the upper one of two. */
export function medianOf(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

/** The percentiles of some samples. */
export function timingOf(samples: readonly number[]): Timing {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), samples: sorted.length };
}

/** Gives the table of a bench and writes the same as JSON to `.bench/<name>.json`. */
export async function report(bench: Bench, comparisons: readonly Comparison[], project: string): Promise<string> {
  const rows = judgedRows(bench, comparisons);
  const folder = join(project, ".bench");
  await mkdir(folder, { recursive: true });
  const json = { bench: bench.name, node: process.version, cpus: cpus().length, date: new Date().toISOString(), rows };
  await writeFile(join(folder, `${bench.name}.json`), `${JSON.stringify(json, null, 2)}\n`);
  return tableOf(bench.name, rows);
}

/** One comparison in a line, before the table is there. */
export function lineOf({ name, ours, peer, unit }: Comparison): string {
  const shown = `${name}: ${amount(ours.p50, unit)}`;
  if (peer === undefined) return shown;
  return `${shown}, ${peer.name} ${amount(peer.timing.p50, unit)}, ${(ours.p50 / peer.timing.p50).toFixed(3)} x`;
}

/** A comparison beside its target. */
export interface Row extends Comparison {
  readonly ratio?: number;
  readonly must?: string;
  readonly reach?: string;
  readonly verdict: "" | "reached" | "met" | "missed";
}

/** Each comparison beside its target. */
export function judgedRows(bench: Bench, comparisons: readonly Comparison[]): readonly Row[] {
  return comparisons.map((comparison) => judged(bench, comparison));
}

function judged(bench: Bench, comparison: Comparison): Row {
  const target = comparison.target === undefined ? undefined : bench.targets[comparison.target];
  if (comparison.target !== undefined && target === undefined) {
    throw new Error(`The bench ${bench.name} has no target "${comparison.target}".`);
  }
  const ratio = ratioOf(comparison);
  const value = target?.of === "ratio" ? ratio : comparison.ours.p50;
  const shown = (limit: number | undefined): string =>
    limit === undefined ? "" : target?.of === "ratio" ? `${limit} x` : amount(limit, target?.of);
  const verdict = target === undefined || value === undefined ? "" : verdictOf(value, target);
  return {
    ...comparison,
    ...(ratio === undefined ? {} : { ratio }),
    must: shown(target?.must),
    reach: shown(target?.reach),
    verdict,
  };
}

function ratioOf({ ours, peer, ratios }: Comparison): number | undefined {
  if (ratios !== undefined) return medianOf(ratios);
  return peer === undefined ? undefined : ours.p50 / peer.timing.p50;
}

function verdictOf(value: number, { of, must, reach }: Target): Row["verdict"] {
  const isEnough = (limit: number): boolean => (of === "share" ? value >= limit : value <= limit);
  if (reach !== undefined && isEnough(reach)) return "reached";
  if (must === undefined) return "";
  return isEnough(must) ? "met" : "missed";
}

function tableOf(name: string, rows: readonly Row[]): string {
  const columns = [name, "p50", "p99", "peer", "p50", "p99", "ratio", "must", "reach for", ""];
  const cells = rows.map((row) => [
    row.name,
    amount(row.ours.p50, row.unit),
    amount(row.ours.p99, row.unit),
    row.peer?.name ?? "",
    row.peer === undefined ? "" : amount(row.peer.timing.p50, row.unit),
    row.peer === undefined ? "" : amount(row.peer.timing.p99, row.unit),
    shownRatio(row),
    row.must ?? "",
    row.reach ?? "",
    row.verdict,
  ]);
  const widths = columns.map((column, at) => Math.max(column.length, ...cells.map((row) => row[at]?.length ?? 0)));
  const isText = (at: number): boolean => at === 0 || at === 3 || at === 9;
  const line = (row: readonly string[]): string =>
    row
      .map((cell, at) => (isText(at) ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd();
  return [line(columns), line(widths.map((width) => "-".repeat(width))), ...cells.map(line)].join("\n");
}

/** The ratio of a row, and its range where there were several runs. */
export function shownRatio({ ratio, ratios = [] }: Row): string {
  if (ratio === undefined) return "";
  const shown = (value: number): string => value.toFixed(ratio < 0.1 ? 3 : 2);
  const range = ratios.length < 2 ? "" : ` (${shown(Math.min(...ratios))} to ${shown(Math.max(...ratios))})`;
  return `${shown(ratio)} x${range}`;
}

/** An amount as people read it. */
export function amount(value: number, unit: Unit = "microseconds"): string {
  if (unit === "share") return value.toFixed(3);
  return unit === "bytes" ? size(value) : time(value);
}

function size(bytes: number): string {
  return Math.abs(bytes) < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function time(microseconds: number): string {
  if (microseconds < 1) return `${(microseconds * 1000).toFixed(0)} ns`;
  if (microseconds < 1000) return `${microseconds.toFixed(microseconds < 10 ? 2 : 1)} us`;
  return `${(microseconds / 1000).toFixed(1)} ms`;
}

async function batchSize(operation: Operation): Promise<number> {
  const samples = await runFor(operation, 20, 64);
  const { p50 } = timingOf(samples);
  return p50 >= batchUs ? 1 : Math.ceil(batchUs / Math.max(p50, 0.001));
}

/** Samples in microseconds: at least one, however long the operation takes. */
async function runFor(operation: Operation, durationMs: number, batch: number): Promise<readonly number[]> {
  const samples: number[] = [];
  const end = performance.now() + durationMs;
  do {
    const started = process.hrtime.bigint();
    for (let at = 0; at < batch; at += 1) {
      const result = operation();
      // An operation that gives no promise is not to pay for an await.
      if (result instanceof Promise) await result;
    }
    samples.push(Number(process.hrtime.bigint() - started) / 1000 / batch);
  } while (performance.now() < end);
  return samples;
}
