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
    shared: { module, maker: "sqliteStore", options: { file, busyTimeoutMs: 100 } },
    outage: async () => {
      const database = new DatabaseSync(file, { timeout: 5_000 });
      database.exec("BEGIN EXCLUSIVE");
      return async () => database.close();
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});
