import { setTimeout as delay } from "node:timers/promises";

/** The bytes in use, of which nothing can be collected. */
export async function heapNow(): Promise<number> {
  for (let round = 0; round < 4; round++) {
    await delay(10);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

/** The growth of the heap in MiB, once objects that are about to be freed had time for it. */
export async function heapGrown(before: number): Promise<number> {
  for (let round = 0; ; round++) {
    const grown = ((await heapNow()) - before) / 1024 / 1024;
    if (grown < 1 || round === 30) return grown;
  }
}

/** The open resources, by type. */
export async function handlesNow(): Promise<readonly string[]> {
  await delay(1);
  return process.getActiveResourcesInfo().sort();
}

/** The resources that are open now and were not before; those that are about to close are given time. */
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
