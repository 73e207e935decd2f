import { spawnSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { Stalls } from "./stalls.ts";

test("time in which the thread could not run is a stall, time in which it computed is none", async () => {
  using stalls = new Stalls();
  await sleep(50);
  const asleepAt = performance.now();
  // The thread waits for another process, and uses no processor.
  spawnSync(process.execPath, ["-e", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300)"]);
  expect(stalls.stalledSince(asleepAt)).toBeGreaterThan(200);
  expect(stalls.extensionSince(asleepAt)).toBeGreaterThan(2 * 200);
  const busyAt = performance.now();
  // Before Node 23.9 that of the process.
  const { threadCpuUsage = process.cpuUsage }: Partial<Pick<NodeJS.Process, "threadCpuUsage">> = process;
  const before = threadCpuUsage().user;
  while (threadCpuUsage().user - before < 300_000);
  const tookMs = performance.now() - busyAt;
  expect(stalls.lateSince(busyAt)).toBeGreaterThan(200);
  // On a busy machine it took longer than it computed.
  expect(stalls.stalledSince(busyAt)).toBeLessThan(tookMs - 250);
  expect(stalls.summary).toMatch(
    /^the machine stalled it for \d+\.\d s \(\d+ ms at once, .*: 0 limits stretched, 0 measurements void$/,
  );
});
