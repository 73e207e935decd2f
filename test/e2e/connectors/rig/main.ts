// Puts every fault of the table to a Toolkit, over one transport, and prints a line for each. It must then end by itself. It is a process
// of its own because only there handles, rejections and the heap belong to nobody else.
import { setTimeout as delay } from "node:timers/promises";
import { type Case, casesOf, type Way } from "./cases.ts";
import type { Report } from "./report.ts";
import { play } from "./scenario.ts";

const [, , chosen, only] = process.argv as unknown as [string, string, Way, string | undefined];
const unhandled: string[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(String((reason as Error)?.stack ?? reason)));

const played = casesOf(chosen).filter(({ fault }) => (only ?? fault) === fault);
// What is loaded and compiled at first is no leak.
for (const fault of ["late-progress", "die-before"] as const) await play(caseOf(fault), chosen);
for (const one of played) {
  const handles = await handlesNow();
  const heap = await heapNow();
  unhandled.length = 0;
  try {
    const observed = await play(one, chosen);
    const heapGrownMb = await heapGrown(heap);
    const report: Report = {
      fault: one.fault,
      way: chosen,
      ...observed,
      handles: await newHandles(handles),
      unhandled: [...unhandled],
      heapGrownMb,
    };
    process.stdout.write(`${JSON.stringify(report)}\n`);
  } catch (error) {
    process.stdout.write(
      `${JSON.stringify({ fault: one.fault, way: chosen, error: String((error as Error).stack) })}\n`,
    );
  }
}

function caseOf(fault: string): Case {
  const found = casesOf(chosen).find((one) => one.fault === fault);
  if (found === undefined) throw new Error(`There is no case of ${fault}.`);
  return found;
}

async function heapNow(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await delay(10);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

/** How much the heap has grown in MiB, when what is about to be let go had time for it. */
async function heapGrown(before: number): Promise<number> {
  for (let round = 0; ; round++) {
    const grown = ((await heapNow()) - before) / 1024 / 1024;
    if (grown < 1 || round === 30) return grown;
  }
}

async function handlesNow(): Promise<readonly string[]> {
  await delay(1);
  return process.getActiveResourcesInfo().sort();
}

/** What is open now and was not before; what is about to close is given time. */
async function newHandles(before: readonly string[]): Promise<readonly string[]> {
  for (let round = 0; ; round++) {
    const rest = [...before];
    const more = (await handlesNow()).filter((handle) => {
      const at = rest.indexOf(handle);
      if (at !== -1) rest.splice(at, 1);
      return at === -1;
    });
    if (more.length === 0 || round === 200) return more;
    await delay(20);
  }
}
