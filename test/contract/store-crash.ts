import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import type { RecordKey, Store } from "../../src/core/store.ts";
import type { StoreMaker } from "../support/store-maker.ts";
import { sumOf, type WriterTask } from "../support/store-writer.ts";
import { verifies } from "../support/verifies.ts";

/** A store that other processes can open too. */
export interface SharedStoreSetup {
  /** How another process makes it. */
  readonly shared: StoreMaker;
  /** One more, in this process. */
  readonly store: Store;
  dispose(): Promise<void>;
}

const program = fileURLToPath(new URL("../support/store-writer.ts", import.meta.url));

/** What every store that outlives a process promises of processes that end in the middle. */
export function storeCrashContract(name: string, setUp: () => Promise<SharedStoreSetup>): void {
  describe(`${name} outlives those who write to it`, () => {
    verifies(
      ["S1", "S3"],
      "after kill -9 in the middle of thousands of writes, what was acknowledged is there, and nothing is torn",
      async () => {
        const { shared, store, dispose } = await setUp();
        try {
          const tasks = ["one", "two", "three"].map((writer) => ({ ...shared, writer }));
          const acknowledged = (await Promise.all(tasks.map((task) => writtenUntilKilled(task, 1_000)))).flat();
          expect(acknowledged.length).toBeGreaterThanOrEqual(3_000);
          await assertWhole(store, acknowledged);
          const { version } = await store.put({ ...keyOf("shared-0"), value: "after" });
          expect(version).toBeGreaterThan(Math.max(...versionsOf("shared-0", acknowledged)));
        } finally {
          await store.close();
          await dispose();
        }
      },
      120_000,
    );
  });
}

type Acknowledged = readonly [key: string, version: number];

const keyOf = (key: string): RecordKey => ({ collection: "resource", owner: "", key });
const versionsOf = (wanted: string, acknowledged: readonly Acknowledged[]) =>
  acknowledged.filter(([key]) => key === wanted).map(([, version]) => version);

async function writtenUntilKilled(task: WriterTask, count: number): Promise<Acknowledged[]> {
  const child: ChildProcess = spawn(process.execPath, [program, JSON.stringify(task)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const acknowledged: Acknowledged[] = [];
  if (child.stdout === null) throw new Error("It has no output.");
  for await (const line of createInterface(child.stdout)) {
    const [key = "", version] = line.split(" ");
    acknowledged.push([key, Number(version)]);
    if (acknowledged.length === count) child.kill("SIGKILL");
  }
  const [code, signal] = await ended;
  expect([code, signal]).toEqual([null, "SIGKILL"]);
  return acknowledged;
}

async function assertWhole(store: Store, acknowledged: readonly Acknowledged[]): Promise<void> {
  const { records, failures } = await store.list({ collection: "resource" }, { bytes: true });
  expect(failures).toEqual([]);
  for (const { key, value, bytes } of records) expect([key, value]).toEqual([key, sumOf(bytes ?? new Uint8Array())]);
  const there = new Map(records.map(({ key, version }) => [key, version]));
  const lost = acknowledged.filter(([key, version]) => (there.get(key) ?? 0) < version);
  expect(lost).toEqual([]);
  for (const key of ["shared-0", "shared-1", "shared-2"]) {
    const given = versionsOf(key, acknowledged);
    expect(new Set(given).size).toBe(given.length);
    const { records: kept } = await store.history(keyOf(key));
    const latest = kept[0]?.version ?? 0;
    expect(kept.map(({ version }) => version)).toEqual(kept.map((_, index) => latest - index));
  }
}
