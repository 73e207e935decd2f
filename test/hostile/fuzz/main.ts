/**
 * `npm run fuzz -- [seconds] [--seed N] [--only AREA [--input N]]`: hostile inputs of every area, for so many seconds in all. It exits with 1 for an input
 * that blocks the event loop for more than 250 ms of processor time, grows memory by more than 100 MB, never ends, or fails otherwise than
 * with a ToolkitError; the seed and the number of the input say which. One that blocks is run twice more, alone, before it counts: the first
 * time may have been that of the compiler.
 */
import { randomInt } from "node:crypto";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { areas } from "./areas.ts";

/** The inputs that a worker runs. */
export interface FuzzOrder {
  readonly area: string;
  readonly seed: number;
  readonly ms: number;
  /** So many are left out. */
  readonly skip: number;
  /** The longest that the loop may be blocked. */
  readonly limitMs: number;
}

/** A message of a worker. */
export type FuzzReport =
  | { readonly type: "begin"; readonly index: number; readonly describe: string }
  | { readonly type: "blocked"; readonly index: number; readonly describe: string; readonly ms: number }
  | { readonly type: "failed"; readonly index: number; readonly describe: string; readonly why: string }
  | { readonly type: "end"; readonly index: number };

const limitMs = 250;
/** The memory that the inputs and the library itself take, and 100 MB more. */
const heapMb = 300;
const hangMs = 20_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { seed: { type: "string" }, only: { type: "string" }, input: { type: "string" } },
});
const seconds = Number(positionals[0] ?? 40);
const chosen = areas.filter(({ name }) => values.only === undefined || name === values.only);
if (!(seconds > 0) || positionals.length > 1 || chosen.length === 0) {
  console.error(`Usage: npm run fuzz -- [seconds] [--seed N] [--only ${areas.map(({ name }) => name).join("|")}]`);
  process.exit(2);
}
const seed = Number(values.seed ?? randomInt(1_000_000));
console.log(`seed ${seed}`);
const problems: string[] = [];
for (const { name } of chosen) {
  const ms = (seconds * 1_000) / chosen.length;
  const order = { area: name, seed, ms, limitMs };
  const one = values.input === undefined ? undefined : Number(values.input);
  const { count, found } = await (one === undefined
    ? runWorker({ ...order, skip: 0 })
    : runWorker({ ...order, skip: one - 1 }, one));
  const real = [];
  for (const each of found) if (each.type !== "blocked" || (await blocksAgain(name, each.index))) real.push(each.text);
  problems.push(...real.map((text) => `${name}, seed ${seed}, ${text}`));
  console.log(`${name}: ${count} inputs, ${real.length} problems`);
}
for (const problem of problems) console.error(problem);
console.log(problems.length === 0 ? `fuzz ok: seed ${seed}` : `fuzz failed: seed ${seed}, ${problems.length} problems`);
process.exitCode = problems.length === 0 ? 0 : 1;

interface Found {
  readonly type: FuzzReport["type"] | "ended";
  readonly index: number;
  readonly text: string;
}

/** True where an input blocks the loop in two more runs of its own. */
async function blocksAgain(area: string, index: number): Promise<boolean> {
  for (let time = 0; time < 2; time += 1) {
    // Those just before it are run too, so that the code is warm.
    const { found } = await runWorker({ area, seed, ms: 10_000, skip: Math.max(0, index - 20), limitMs }, index);
    if (!found.some((each) => each.index === index)) return false;
  }
  return true;
}

/** Runs inputs in a thread of their own until its time is over, or until the given one has run. */
function runWorker(
  order: FuzzOrder,
  last = Number.POSITIVE_INFINITY,
): Promise<{ readonly count: number; readonly found: readonly Found[] }> {
  const found: Found[] = [];
  let current: { readonly index: number; readonly describe: string } = { index: 0, describe: "loading" };
  const worker = new Worker(fileURLToPath(new URL("worker.ts", import.meta.url)), {
    workerData: order,
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  });
  const add = (type: Found["type"], text: string) => {
    found.push({ type, index: current.index, text: `input ${current.index} (${current.describe}): ${text}` });
  };
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const watch = () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        add("ended", `did not end within ${hangMs / 1_000} s`);
        void worker.terminate();
      }, hangMs);
    };
    watch();
    worker.on("message", (message: FuzzReport) => {
      if (message.type === "blocked") add("blocked", `blocked the event loop for ${message.ms} ms`);
      if (message.type === "failed") add("failed", `failed with ${message.why}`);
      if (message.type !== "begin") return;
      if (message.index > last) void worker.terminate();
      current = message;
      watch();
    });
    worker.on("error", (error: Error & { readonly code?: string }) => {
      const isMemory = error.code === "ERR_WORKER_OUT_OF_MEMORY";
      add(
        "ended",
        isMemory ? "took more memory than it may" : `threw outside of its call: ${error.stack ?? String(error)}`,
      );
    });
    worker.on("exit", () => {
      clearTimeout(timer);
      resolve({ count: current.index, found });
    });
  });
}
