import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect } from "vitest";
import { Toolkit } from "../../../src/index.ts";
import { sqliteStore } from "../../../src/store/sqlite/index.ts";
import { verifies } from "../../support/verifies.ts";

const run = promisify(execFile);
const reader = fileURLToPath(new URL("../../support/store-reader.ts", import.meta.url));
const mounting = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"';
/** Runs a command for which a folder is a read-only mount. */
const whereReadOnly = (folder: string, command: readonly string[]) =>
  run("unshare", ["--map-root-user", "--mount", "sh", "-c", mounting, "sh", folder, ...command], { timeout: 60_000 });
const canMount = await whereReadOnly(tmpdir(), ["true"]).then(
  () => true,
  () => false,
);

describe.skipIf(!canMount)("sqliteStore on a read-only file system (where `unshare` may mount one)", () => {
  verifies("S1", "reads what is there, warns once, and refuses to write with the reason", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolweave-read-only-"));
    const file = join(folder, "store.db");
    try {
      const toolkit = new Toolkit({ store: sqliteStore({ file }) });
      await toolkit.user.putPrompt("---\nname: first\n---\nHi");
      const read = async () => JSON.parse((await whereReadOnly(folder, [process.execPath, reader, file])).stdout);
      const whole = {
        found: ["user.first"],
        code: "STORE_FAILED",
        message: expect.stringContaining("it can only be read, since its file system is read-only"),
        warnings: [expect.stringContaining("can only be read, since its file system is read-only: every write fails")],
      };
      // With its log beside it, and another process that has it open.
      expect(await read()).toEqual(whole);
      await toolkit.close();
      // Closed and whole, with no file beside it.
      expect(await read()).toEqual(whole);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
