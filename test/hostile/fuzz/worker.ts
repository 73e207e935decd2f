/** The thread in which hostile inputs run. The main thread watches it, see main.ts. */
import { parentPort, workerData } from "node:worker_threads";
import { ToolkitError } from "../../../src/core/error.ts";
import { randomOf } from "../../support/random.ts";
import { areas } from "./areas.ts";
import type { FuzzOrder, FuzzReport } from "./main.ts";

const { area: name, seed, ms, skip, limitMs } = workerData as FuzzOrder;
const area = areas.find((each) => each.name === name);
if (area === undefined || parentPort === null) throw new Error(`There is no area ${name}.`);
const port = parentPort;
const report = (message: FuzzReport) => port.postMessage(message);

function take<T>(values: Iterable<T>, count: number): readonly T[] {
  const taken: T[] = [];
  for (const value of values) {
    taken.push(value);
    if (taken.length === count) break;
  }
  return taken;
}

/** The processor time of this thread in milliseconds: time in which the machine did something else is not in it. */
const spentMs = () => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** The time of a fixed amount of work: where others keep the machine busy, a processor does less in its time. */
function referenceMs(): number {
  const began = spentMs();
  let sum = 0;
  for (let at = 0; at < 3_000_000; at += 1) sum = (sum + Math.imul(at, 31)) | 0;
  return spentMs() - began + (sum === 1 ? 1 : 0);
}
let bestMs = Math.min(...Array.from({ length: 10 }, referenceMs));

/** A time, as it would be on this machine when it is quiet. */
function quietMs(ms: number): number {
  const nowMs = referenceMs();
  bestMs = Math.min(bestMs, nowMs);
  return (ms * bestMs) / nowMs;
}

// Each turn of the loop that comes late was blocked.
let longest = 0;
let beat = spentMs();
setInterval(() => {
  const now = spentMs();
  longest = Math.max(longest, now - beat);
  beat = now;
}, 1);
const nextBeat = () => new Promise<void>((resolve) => setTimeout(resolve, 2));

const end = performance.now() + ms;
let index = skip;
while (performance.now() < end) {
  index += 1;
  // Each has random numbers of its own, so that it can be made again without those before it.
  const [input] = take(area.cases(randomOf(seed * 1_000_003 + index)), 1);
  if (input === undefined) break;
  const { describe, run } = input;
  report({ type: "begin", index, describe });
  await nextBeat();
  longest = 0;
  try {
    await run();
  } catch (error) {
    if (!ToolkitError.is(error))
      report({ type: "failed", index, describe, why: String((error as Error)?.stack ?? error) });
  }
  await nextBeat();
  const blockedMs = longest > limitMs ? quietMs(longest) : 0;
  if (blockedMs > limitMs) report({ type: "blocked", index, describe, ms: Math.round(blockedMs) });
}
report({ type: "end", index });
process.exit(0);
