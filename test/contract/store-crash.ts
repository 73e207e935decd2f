import { describe, expect } from "vitest";
import type { RecordKey, Store, StoredRecord } from "../../src/core/store.ts";
import { Child } from "../support/child.ts";
import { makeStore, type StoreMaker } from "../support/store-maker.ts";
import { sumOf, type WriterTask } from "../support/store-writer.ts";
import { verifies } from "../support/verifies.ts";

/** A store that other processes can open too. */
export interface SharedStoreSetup {
  /** The module and options by which every process makes it. It keeps every past version. */
  readonly shared: StoreMaker;
  /** Says what is wrong with where it keeps things, in its own way; undefined where that is known to be sound. */
  readonly check?: (() => unknown) | undefined;
  dispose(): Promise<void>;
}

const program = new URL("../support/store-writer.ts", import.meta.url);
const sharedKeys = ["shared-0", "shared-1", "shared-2"];

/** The promises of every store that outlives a process, of processes that end in the middle. */
export function storeCrashContract(name: string, setUp: () => Promise<SharedStoreSetup>): void {
  describe(`${name} outlives those who write to it`, () => {
    verifies(
      ["S1", "S3"],
      "after kill -9 in the middle of thousands of writes, what was acknowledged is there, and nothing is torn",
      async () => {
        const { shared, check, dispose } = await setUp();
        try {
          const acknowledged = [...(await writtenUntilKilled(shared, "a")), ...(await writtenUntilKilled(shared, "b"))];
          expect(acknowledged.length).toBeGreaterThanOrEqual(3_000);
          await using store = await makeStore(shared);
          await assertWhole(store, acknowledged);
          const latest = Math.max(...acknowledged.map(({ key, version }) => (key === "shared-0" ? version : 0)));
          const { version } = await store.put({ ...keyOf("shared-0"), value: "after" });
          expect(version).toBeGreaterThan(latest);
          expect(check?.()).toBeUndefined();
        } finally {
          await dispose();
        }
      },
      120_000,
    );
  });
}

interface Acknowledged {
  readonly key: string;
  readonly version: number;
  readonly sum: string;
}

const keyOf = (key: string): RecordKey => ({ collection: "resource", owner: "", key });

/** Three write at once. Each is killed in the middle, while those after it go on. */
async function writtenUntilKilled(shared: StoreMaker, round: string): Promise<readonly Acknowledged[]> {
  const writers = ["one", "two", "three"].map((name) => {
    const task: WriterTask = { ...shared, writer: `${round}-${name}` };
    return new Child(program, JSON.stringify(task));
  });
  try {
    for (const [index, writer] of writers.entries()) {
      await writer.saidSo(400 + index * 100);
      await writer.kill();
    }
  } finally {
    await Promise.all(writers.map((writer) => writer.kill()));
  }
  return writers.flatMap(({ lines }) => lines).map(acknowledgedIn);
}

function acknowledgedIn(line: string): Acknowledged {
  const [key = "", version, sum = ""] = line.split(" ");
  return { key, version: Number(version), sum };
}

async function assertWhole(store: Store, acknowledged: readonly Acknowledged[]): Promise<void> {
  const { records, failures } = await store.list({ collection: "resource" }, { bytes: true });
  expect(failures).toEqual([]);
  const kept = new Map(records.map((record) => [versionOf(record), record]));
  for (const key of sharedKeys) {
    const history = await store.history(keyOf(key), { bytes: true });
    expect(history.failures).toEqual([]);
    const versions = history.records.map(({ version }) => version);
    expect(versions).toEqual(versions.map((_, index) => versions.length - index));
    for (const record of history.records) kept.set(versionOf(record), record);
  }
  for (const { key, value, bytes } of kept.values())
    expect([key, value]).toEqual([key, sumOf(bytes ?? new Uint8Array())]);
  const lost = acknowledged.filter((each) => kept.get(versionOf(each))?.value !== each.sum);
  expect(lost).toEqual([]);
  expect(new Set(acknowledged.map(versionOf)).size).toBe(acknowledged.length);
}

function versionOf({ key, version }: Acknowledged | StoredRecord): string {
  return `${key} ${version}`;
}
