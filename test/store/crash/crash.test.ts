import { hash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, describe, expect } from "vitest";
import type { StoredRecord } from "../../../src/core/store.ts";
import { sqliteStore } from "../../../src/store/sqlite/index.ts";
import { Child } from "../../support/child.ts";
import { verifies } from "../../support/verifies.ts";

interface Acknowledged {
  readonly key: string;
  readonly version: number;
  readonly checksum: string;
  readonly write: string;
}

describe("a SQLite file whose writers are killed", () => {
  let folder = "";
  let file = "";
  let children: Child[];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolweave-crash-"));
    file = join(folder, "store.db");
    children = [];
  });
  afterEach(async () => {
    await Promise.all(children.map((child) => child.kill()));
    await rm(folder, { recursive: true, force: true });
  });

  const start = (name: string, seed: number) => {
    const child = new Child(new URL("writer.ts", import.meta.url), file, name, `${seed}`);
    children.push(child);
    return child;
  };

  verifies(
    "S3",
    "has every write that was acknowledged, whole, with versions that only rise",
    async () => {
      const acknowledged: Acknowledged[] = [];
      for (let round = 0; round < 3; round++) {
        const writers = ["a", "b", "c"].map((name, index) => start(`${name}${round}`, round * 10 + index + 1));
        // Each in the middle of its writes, the others going on meanwhile.
        for (const [index, writer] of writers.entries()) {
          await writer.saidSo(150 + index * 100);
          await writer.kill();
        }
        for (const { lines } of writers) acknowledged.push(...read(lines));
      }
      expect(acknowledged.length).toBeGreaterThan(1_500);
      const store = sqliteStore({ file, keepVersions: 1_000_000 });
      const versions = await historyOf(store, new Set(acknowledged.map(({ key }) => key)));
      await store.close();
      for (const { key, version, checksum } of acknowledged) {
        const kept = versions.get(key)?.find((each) => each.version === version);
        expect([key, version, (kept?.value as { readonly checksum?: string })?.checksum]).toEqual([
          key,
          version,
          checksum,
        ]);
      }
      for (const [key, records] of versions) {
        const numbers = records.map(({ version }) => version);
        expect([key, numbers]).toEqual([key, Array.from(numbers, (_, index) => numbers.length - index)]);
        for (const { value, bytes } of records)
          expect(hash("sha256", bytes ?? "")).toBe((value as { readonly checksum: string }).checksum);
      }
      const taken = acknowledged.map(({ key, version }) => `${key} ${version}`);
      expect(new Set(taken).size).toBe(taken.length);
      const database = new DatabaseSync(file);
      expect(database.prepare("PRAGMA integrity_check").get()).toEqual({ integrity_check: "ok" });
      database.close();
    },
    240_000,
  );

  verifies("K2", "tells in one process what another puts", async () => {
    const store = sqliteStore({ file });
    let told = 0;
    const enough = Promise.withResolvers<void>();
    store.watch((event) => {
      if (event.type !== "changed" || event.key !== "told") return;
      expect(event.origin).toBe("elsewhere");
      told += 1;
      if (told === 5) enough.resolve();
      else child.tell("put");
    });
    await store.open();
    const child = new Child(new URL("putter.ts", import.meta.url), file);
    children.push(child);
    await child.said("ready");
    child.tell("put");
    await enough.promise;
    expect((await store.get({ collection: "prompt", owner: "", key: "told" }))?.version).toBe(5);
    await store.close();
  });
});

function read(lines: readonly string[]): readonly Acknowledged[] {
  // The last may be half a line.
  return lines
    .map((line) => line.split(" "))
    .filter((parts) => parts.length === 4)
    .map(([key = "", version, checksum = "", write = ""]) => ({ key, version: Number(version), checksum, write }));
}

async function historyOf(store: ReturnType<typeof sqliteStore>, keys: ReadonlySet<string>) {
  const all = new Map<string, readonly StoredRecord[]>();
  for (const key of keys) {
    const { records, failures } = await store.history({ collection: "resource", owner: "crash", key }, { bytes: true });
    expect(failures).toEqual([]);
    all.set(key, records);
  }
  return all;
}
