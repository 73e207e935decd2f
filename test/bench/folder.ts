import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promptFolder } from "../../src/prompt/prompt-folder.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { type Bench, timingOf } from "./harness.ts";

const count = 10_000;
const changes = 15;

/** A followed folder of many prompts: what a second costs in which nothing happens, and the time from a change to its event. */
export const bench: Bench = {
  name: "folder",
  targets: { idle: { of: "microseconds", must: 1_000 }, change: { of: "microseconds", must: 150_000, reach: 50_000 } },
  async run() {
    const folder = await mkdtemp(join(tmpdir(), "toolweave-bench-"));
    await using toolkit = new Toolkit();
    // Neither a watch nor its timers keep a process alive.
    const alive = setInterval(() => undefined, 60_000);
    try {
      for (let at = 0; at < count; at += 1) await writeFile(join(folder, `p${at}.md`), textOf(at));
      toolkit.addSource("prompts", promptFolder(folder, { watch: true }));
      await toolkit.start();
      // A file that was written just before the first scan is looked at once more, and garbage of the start collected.
      await setTimeout(6_000);
      const idle = await idleCost(10);
      const [times, costs] = await changeTimes(toolkit, folder);
      return [
        { name: `CPU of a second without a change, ${count} files`, target: "idle", ours: timingOf(idle) },
        { name: "a change, to its event", target: "change", ours: timingOf(times) },
        { name: "CPU of a change", ours: timingOf(costs) },
      ];
    } finally {
      clearInterval(alive);
      await rm(folder, { recursive: true });
    }
  },
};

function textOf(version: number | string): string {
  return `---\ndescription: Greets, in version ${version}.\n---\nHello {{name}}!\n`;
}

/** In microseconds of the processor. */
async function idleCost(seconds: number): Promise<readonly number[]> {
  const before = process.cpuUsage();
  await setTimeout(seconds * 1_000);
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / seconds];
}

/** Files that are written anew, and in turn files that take the place of others. */
async function changeTimes(toolkit: Toolkit, folder: string) {
  const times: number[] = [];
  const costs: number[] = [];
  for (let change = 0; change < changes; change += 1) {
    const file = join(folder, `p${change * 17}.md`);
    const cpu = process.cpuUsage();
    const began = performance.now();
    const heard = new Promise<void>((resolve) => {
      const stop = toolkit.on("promptListChanged", () => {
        stop();
        resolve();
      });
    });
    const written = change % 2 === 0 ? file : `${file}.tmp`;
    await writeFile(written, textOf(`of change ${change}`));
    if (written !== file) await rename(written, file);
    await heard;
    times.push((performance.now() - began) * 1_000);
    await setTimeout(500);
    const { user, system } = process.cpuUsage(cpu);
    costs.push(user + system);
  }
  return [times, costs] as const;
}
