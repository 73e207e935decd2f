import { copyFile, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Store, StoreEvent } from "../../src/core/store.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { virtualClock } from "../../src/testing/virtual-clock.ts";
import { storeContract } from "../contract/store.ts";
import { storeCrashContract } from "../contract/store-crash.ts";
import { holdAgainstModel } from "../contract/store-model.ts";
import { failure, rejection } from "../support/failure.ts";
import { openSqlite } from "../support/sqlite-file.ts";
import { verifies } from "../support/verifies.ts";

const makeFolder = () => mkdtemp(join(tmpdir(), "toolweave-sqlite-"));

storeContract("sqliteStore", async (options) => {
  const folder = await makeFolder();
  const file = join(folder, "store.db");
  return {
    store: sqliteStore({ file, ...options }),
    another: async () => sqliteStore({ file, ...options }),
    spoil: async ({ collection, owner, key }, json) => {
      using database = openSqlite(file);
      const spoil = database.prepare("UPDATE record SET value = ? WHERE collection = ? AND owner = ? AND key = ?");
      spoil.run(json, collection, owner, key);
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});

storeContract(
  "sqliteStore in memory",
  async (options) => ({ store: sqliteStore({ file: ":memory:", ...options }), dispose: async () => undefined }),
  { isShared: false, spoils: false },
);

storeCrashContract("sqliteStore", async () => {
  const folder = await makeFolder();
  const file = join(folder, "store.db");
  const module = new URL("../../src/store/sqlite/index.ts", import.meta.url).href;
  return {
    shared: { module, maker: "sqliteStore", options: { file, keepVersions: 1_000_000 } },
    check: () => {
      using database = openSqlite(file);
      const { integrity_check: found } = database.prepare("PRAGMA integrity_check").get() ?? {};
      return found === "ok" ? undefined : found;
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});

describe("sqliteStore", () => {
  let folder = "";
  let file = "";
  const stores: Store[] = [];
  const open = (options: { readonly file?: string; readonly busyTimeoutMs?: number } = {}) => {
    const store = sqliteStore({ file, ...options });
    stores.push(store);
    return store;
  };
  const greet = { collection: "prompt", owner: "ada", key: "greet", value: "Hi" } as const;

  beforeEach(async () => {
    folder = await makeFolder();
    file = join(folder, "store.db");
  });
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    await rm(folder, { recursive: true, force: true });
  });

  verifies("S1", "does what the plainest model does, whatever is asked of it", () =>
    holdAgainstModel(async (keepVersions) => sqliteStore({ file: ":memory:", keepVersions }), 100),
  );

  verifies("S1", "has what was put after it was closed and opened again, and leaves one file then", async () => {
    const first = open();
    await first.put({ ...greet, bytes: new Uint8Array([1]) });
    await first.put({ ...greet, value: "Hello" });
    await first.close();
    expect(await readdir(folder)).toEqual(["store.db"]);
    const second = open();
    expect(await second.get(greet)).toMatchObject({ value: "Hello", version: 2 });
    expect(await second.get(greet, { version: 1 })).toMatchObject({ value: "Hi", bytes: new Uint8Array([1]) });
    expect((await second.put(greet, { expectedVersion: 2 })).version).toBe(3);
  });

  test("refuses options that are none", () => {
    for (const options of [
      { file: "" },
      { file: 7 },
      {},
      { file: "a", keepVersions: -1 },
      { file: "a", busyTimeoutMs: -1 },
    ])
      expect(() => sqliteStore(options as never)).toThrow(/of a store/);
  });

  const misfits: readonly (readonly [what: string, prepare: () => Promise<string>, message: RegExp])[] = [
    [
      "whose folder is not there",
      async () => join(folder, "no", "store.db"),
      /there is no folder .*no\. Make it first/,
    ],
    ["that is a folder", async () => folder, /it is a folder/],
    [
      "that is no database",
      async () => {
        await writeFile(file, "This is a text, and it is longer than the header of a database. ".repeat(20));
        return file;
      },
      /file is not a database/,
    ],
    [
      "that is a database of something else",
      async () => {
        using database = openSqlite(file);
        database.exec("CREATE TABLE song (title TEXT)");
        return file;
      },
      /something else/,
    ],
    [
      "of a newer version",
      async () => {
        await open().open();
        using database = openSqlite(file);
        database.exec("PRAGMA user_version = 7");
        return file;
      },
      /newer version of Toolweave.*the file has 7\. Update/,
    ],
  ];
  for (const [what, prepare, message] of misfits) {
    verifies("S1", `says what is wrong with a file ${what}`, async () => {
      const store = open({ file: await prepare() });
      for (const asked of [store.open(), store.get(greet), store.put(greet)]) {
        const error = await failure(asked);
        expect(error).toMatchObject({ code: "STORE_FAILED", details: { operation: "open" } });
        expect(error.message).toMatch(message);
      }
      await store.close();
    });
  }

  verifies("S1", "counts for quotas what was put by a version that kept no count", async () => {
    const first = open();
    await first.put(greet);
    await first.put({ ...greet, key: "gone" });
    await first.delete({ ...greet, key: "gone" });
    await first.close();
    const database = openSqlite(file);
    const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
    for (const { name } of triggers) database.exec(`DROP TRIGGER ${name}`);
    database.exec("DROP TABLE usage; PRAGMA user_version = 2");
    database.exec("CREATE INDEX record_usage ON record (owner, collection, total_bytes) WHERE deleted = 0");
    database.close();
    const refusal = await failure(open().put({ ...greet, key: "more" }, { quota: { items: 1 } }));
    expect(refusal.details).toEqual({ limit: "items", max: 1, actual: 2 });
  });

  verifies("S3", "that could not be opened is tried again when it is needed next", async () => {
    const later = join(folder, "later");
    const store = open({ file: join(later, "store.db") });
    expect((await failure(store.put(greet))).code).toBe("STORE_FAILED");
    await mkdir(later);
    expect((await store.put(greet)).version).toBe(1);
  });

  verifies("S3", "waits for another process's lock without holding up its own, and not for ever", async () => {
    const store = open({ busyTimeoutMs: 300 });
    await store.put(greet);
    using other = openSqlite(file);
    other.exec("BEGIN IMMEDIATE");
    const putting = failure(store.put(greet));
    const controller = new AbortController();
    const aborted = rejection(store.put(greet, { signal: controller.signal }));
    expect((await store.get(greet))?.version).toBe(1);
    controller.abort("enough");
    expect(await aborted).toBe("enough");
    const error = await putting;
    expect([error.code, error.message]).toEqual(["STORE_FAILED", expect.stringContaining("another process")]);
    const patient = open();
    const waiting = patient.put({ ...greet, value: "after" });
    other.exec("COMMIT");
    expect(await waiting).toMatchObject({ version: 2, value: "after" });
  });

  verifies("S1", "what fails of those who write together fails alone", async () => {
    const store = open();
    await store.open();
    using other = openSqlite(file);
    other.exec(
      `CREATE TRIGGER picky BEFORE INSERT ON record WHEN new.key = 'bad' BEGIN SELECT raise(ROLLBACK, 'no'); END`,
    );
    const outcomes = await Promise.all(
      ["a", "bad", "c", "bad", "e"].map((key) =>
        store.put({ ...greet, key }).then(
          ({ version }) => version,
          (error) => error.code,
        ),
      ),
    );
    expect(outcomes).toEqual([1, "STORE_FAILED", 1, "STORE_FAILED", 1]);
    expect((await store.list({ collection: "prompt" })).records.map(({ key }) => key)).toEqual(["a", "c", "e"]);
  });

  verifies(
    ["S3", "K2"],
    "tells when it cannot watch, when it can again, and when it has missed something",
    async () => {
      const store = open();
      const told: StoreEvent["type"][] = [];
      let heard = Promise.withResolvers<void>();
      store.watch(({ type }) => {
        told.push(type);
        heard.resolve();
      });
      const next = async () => {
        await heard.promise;
        heard = Promise.withResolvers<void>();
        return told.at(-1);
      };
      await store.open();
      using other = openSqlite(file);
      other.exec("ALTER TABLE counter RENAME TO hidden");
      expect(await next()).toBe("failed");
      other.exec("ALTER TABLE hidden RENAME TO counter");
      expect(await next()).toBe("recovered");
      other.exec("UPDATE counter SET change = change + 10, forgotten = change + 5");
      expect(await next()).toBe("gap");
      expect(told).toEqual(["failed", "recovered", "gap"]);
    },
  );

  const replacements: readonly (readonly [what: string, replace: () => Promise<void>])[] = [
    ["deleted", () => rm(file)],
    [
      "replaced",
      async () => {
        await copyFile(file, `${file}.copy`);
        await rename(`${file}.copy`, file);
      },
    ],
    ["left without its log", () => rm(`${file}-wal`)],
  ];
  for (const [what, replace] of replacements) {
    verifies(["S1", "S3"], `acknowledges no write once its file was ${what} under it, and says so`, async () => {
      const store = open();
      await store.put(greet);
      await replace();
      const failed = Promise.withResolvers<StoreEvent>();
      store.watch(failed.resolve);
      const outcomes = await Promise.all([failure(store.put(greet)), failure(store.delete(greet))]);
      for (const error of outcomes) {
        expect(error).toMatchObject({ code: "STORE_FAILED", message: expect.stringContaining("deleted or replaced") });
      }
      expect(await failed.promise).toMatchObject({
        type: "failed",
        error: { message: expect.stringContaining("deleted or replaced") },
      });
    });
  }

  verifies("S3", "goes on once its file was put back", async () => {
    const store = open();
    await store.put(greet);
    await rename(file, `${file}.away`);
    expect((await failure(store.put(greet))).code).toBe("STORE_FAILED");
    await rename(`${file}.away`, file);
    expect((await store.put({ ...greet, key: "again" })).version).toBe(1);
    await store.close();
    expect(await open().get({ ...greet, key: "again" })).toMatchObject({ version: 1 });
  });

  verifies("S1", "forgets deleted approvals and runs after a while, and no deleted prompt", async () => {
    const clock = virtualClock();
    const store = sqliteStore({ file, clock });
    stores.push(store);
    const run = { collection: "run", owner: "", key: "1", value: 1 } as const;
    for (const draft of [run, greet]) {
      await store.put(draft);
      await store.delete(draft);
    }
    await clock.advance(3_700_000);
    await store.put({ ...run, key: "2" });
    await store.delete({ ...run, key: "2" });
    expect((await store.put(run)).version).toBe(1);
    expect((await store.put(greet)).version).toBe(3);
  });

  test("does not look at the file while nobody watches, and keeps no process alive", async () => {
    const store = open();
    const timers = () => process.getActiveResourcesInfo().filter((type) => type === "Timeout").length;
    await store.put(greet);
    // Counted without a pause between: a timer of the test runner may begin or end in every other one.
    const before = timers();
    const put = store.put({ ...greet, key: "again" });
    const stop = store.watch(() => undefined);
    const after = timers();
    await put;
    stop();
    expect(after).toBe(before);
    await store.close();
  });
});
