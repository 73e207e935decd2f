import { existsSync, readFileSync } from "node:fs";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";

const looks = 40;
const lookMs = 50;

/** The heap after everything that can be collected has been, in megabytes. */
export async function heapMegabytes(): Promise<number> {
  if (globalThis.gc === undefined) throw new Error("Run it with node --expose-gc.");
  // An object that is held by a weak reference or waits to be finalized goes only after a turn.
  for (let round = 0; round < 5; round++) {
    globalThis.gc();
    await setImmediate();
  }
  return process.memoryUsage().heapUsed / 2 ** 20;
}

/** The children that still run, given a moment to end; of a process the system's account of it. */
export async function leftOf(running: () => readonly string[]): Promise<readonly string[]> {
  const first = running().map(described);
  for (let look = 0; look < looks && running().length > 0; look++) await sleep(lookMs);
  return running().map((left) => `${described(left)} (at once: ${first.join("; ")})`);
}

function described(left: string): string {
  const [pid] = /\d+$/.exec(left) ?? [];
  const status = `/proc/${pid}/status`;
  if (pid === undefined || !existsSync(status)) return left;
  const lines = readFileSync(status, "utf8").split("\n");
  return `${left}: ${lines
    .filter((line) => /^(State|PPid):/.test(line))
    .join(", ")
    .replaceAll("\t", " ")}`;
}

/** The handles there are beside those there were, given a moment to close. */
export async function handlesBeside(before: readonly string[]): Promise<readonly string[]> {
  let open: readonly string[] = [];
  for (let look = 0; look < looks; look++) {
    open = without(process.getActiveResourcesInfo(), before);
    if (open.length === 0) return [];
    await sleep(lookMs);
  }
  return open;
}

function without(all: readonly string[], some: readonly string[]): readonly string[] {
  const left = [...all];
  for (const name of some) {
    const at = left.indexOf(name);
    if (at >= 0) left.splice(at, 1);
  }
  return left;
}
