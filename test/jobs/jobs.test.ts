import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memoryStore } from "../../src/store/memory-store.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { jobsContract } from "../contract/jobs.ts";
import { sharing } from "../support/sharing.ts";

jobsContract("memory", async () => {
  const store = memoryStore();
  return { store, another: async () => sharing(store), dispose: async () => undefined };
});

jobsContract("SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-jobs-"));
  const file = join(folder, "store.db");
  return {
    store: sqliteStore({ file }),
    another: async () => sqliteStore({ file }),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});
