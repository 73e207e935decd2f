import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { jobsCrashContract } from "../../contract/jobs-crash.ts";

jobsCrashContract("SQLite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-jobs-"));
  const file = join(folder, "store.db");
  const module = new URL("../../../src/store/sqlite/index.ts", import.meta.url).href;
  return {
    shared: { module, maker: "sqliteStore", options: { file, busyTimeoutMs: 1_000 } },
    outage: async () => {
      const database = new DatabaseSync(file);
      database.exec("PRAGMA busy_timeout = 5000; BEGIN EXCLUSIVE");
      return async () => database.close();
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});
