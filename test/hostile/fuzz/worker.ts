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
  if (longest > limitMs) report({ type: "blocked", index, describe, ms: Math.round(longest) });
}
report({ type: "end", index });
process.exit(0);
