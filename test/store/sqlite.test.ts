import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { storeContract } from "../contract/store.ts";

storeContract("sqliteStore", async (options) => {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-sqlite-"));
  const file = join(folder, "store.db");
  return {
    store: sqliteStore({ file, ...options }),
    another: async () => sqliteStore({ file, ...options }),
    spoil: async ({ collection, owner, key }, json) => {
      const database = new DatabaseSync(file);
      const spoil = database.prepare("UPDATE record SET value = ? WHERE collection = ? AND owner = ? AND key = ?");
      spoil.run(json, collection, owner, key);
      database.close();
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
});
