// Puts faults of the table, those it is given by name or all, to a Toolkit over one transport, and prints a line for each. It must then
// end by itself. It is a process of its own because only there handles, rejections and the heap belong to nothing else.
import { type Case, casesOf, type Way } from "./cases.ts";
import type { Report } from "./report.ts";
import { handlesNow, heapGrown, heapNow, newHandles } from "./residue.ts";
import { play } from "./scenario.ts";

const [, , chosen, ...faults] = process.argv as unknown as [string, string, Way, ...string[]];
const unhandled: string[] = [];
process.on("unhandledRejection", (reason) => unhandled.push(String((reason as Error)?.stack ?? reason)));

const played = casesOf(chosen).filter(({ fault }) => faults.length === 0 || faults.includes(fault));
// Code that is loaded and compiled at first is no leak.
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
