import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type Bench, type Timing, timingOf } from "./harness.ts";
import { startHttpServers } from "./raw.ts";

const runs = 5;
const weigher = fileURLToPath(new URL("./server/weigh.ts", import.meta.url));

/** The memory that stays in use, in a process of its own for each side: of lists that were read again, and of each connector. */
export const bench: Bench = {
  name: "memory",
  targets: {
    relists: { of: "bytes", must: 1e6, reach: 0 },
    connector: { of: "ratio", must: 1.1 },
  },
  async run() {
    await using servers = await startHttpServers({ count: 60, tools: 20, output: false });
    const urls = JSON.stringify(servers.urls);
    return [
      { name: "100 lists of 100 unchanged tools", target: "relists", ...weighed("lists") },
      { name: "a connector over HTTP, 20 tools", target: "connector", ...weighed("connectors", urls) },
    ];
  },
};

function weighed(what: string, ...args: readonly string[]) {
  const ours: number[] = [];
  const raw: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    ours.push(weigh(what, "ours", ...args));
    raw.push(weigh(what, "raw", ...args));
  }
  const timing = (samples: readonly number[]): Timing => timingOf(samples);
  return { unit: "bytes" as const, ours: timing(ours), peer: { name: "SDK", timing: timing(raw) } };
}

function weigh(...args: readonly string[]): number {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--expose-gc", weigher, ...args], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Nothing was weighed: ${args[0]}, ${args[1]}.\n${stderr}`);
  return Number(stdout);
}
