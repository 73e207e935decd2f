import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { jobsContract } from "../contract/jobs.ts";
import { jobsCrashContract } from "../contract/jobs-crash.ts";
import { sharing } from "../support/sharing.ts";

jobsContract("memory", async () => {
  const store = memoryStore();
  return { store, another: async () => sharing(store), dispose: async () => undefined };
});

const makeFolder = () => mkdtemp(join(tmpdir(), "toolweave-jobs-"));

jobsContract("SQLite", async () => {
  const folder = await makeFolder();
  const file = join(folder, "store.db");
  return {
    store: sqliteStore({ file }),
    another: async () => sqliteStore({ file }),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});

jobsCrashContract("SQLite", async () => {
  const folder = await makeFolder();
  const file = join(folder, "store.db");
  const module = new URL("../../src/store/sqlite/index.ts", import.meta.url).href;
  return {
    shared: { module, maker: "sqliteStore", options: { file, busyTimeoutMs: 100 } },
    outage: async () => {
      const database = new DatabaseSync(file, { timeout: 5_000 });
      database.exec("BEGIN EXCLUSIVE");
      return async () => database.close();
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});
