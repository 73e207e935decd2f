import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { userSharingContract } from "../contract/user-sharing.ts";

userSharingContract("sqliteStore", async () => {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-shared-"));
  const module = new URL("../../src/store/sqlite/index.ts", import.meta.url).href;
  return {
    shared: { module, maker: "sqliteStore", options: { file: join(folder, "user.db") } },
    dispose: () => rm(folder, { recursive: true }),
  };
});
