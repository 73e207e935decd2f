import { setTimeout as delay } from "node:timers/promises";

/** The bytes in use, of which nothing can be collected. */
export async function heapNow(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await delay(10);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

/** How much the heap has grown in MiB, when what is about to be let go had time for it. */
export async function heapGrown(before: number): Promise<number> {
  for (let round = 0; ; round++) {
    const grown = ((await heapNow()) - before) / 1024 / 1024;
    if (grown < 1 || round === 30) return grown;
  }
}

/** What is open, by type. */
export async function handlesNow(): Promise<readonly string[]> {
  await delay(1);
  return process.getActiveResourcesInfo().sort();
}

/** What is open now and was not before; what is about to close is given time. */
export async function newHandles(before: readonly string[]): Promise<readonly string[]> {
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
