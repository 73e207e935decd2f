import { chmod, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { resource } from "../../src/resource/resource-factory.ts";
import { sqliteStore } from "../../src/store/sqlite/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { verifies } from "../support/verifies.ts";
import { warningsLogger } from "../support/warnings-logger.ts";

describe.skipIf(process.platform === "win32")("files (Windows has no modes)", () => {
  let folder: string;
  const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "toolweave-files-"));
  });
  afterEach(async () => {
    await rm(folder, { recursive: true, force: true });
  });

  verifies("H5", "the database of a store, and the files beside it, are made for their owner alone", async () => {
    const file = join(folder, "store.db");
    await using toolkit = new Toolkit({ store: sqliteStore({ file }) });
    await toolkit.start();
    await toolkit.user.putResource(resource.withUri(resource.text("note", "a secret"), "note:one"));
    expect([await modeOf(file), await modeOf(`${file}-wal`), await modeOf(`${file}-shm`)]).toEqual([
      "600",
      "600",
      "600",
    ]);
  });

  verifies("H5", "one that others may read is reported to the operator, with what to do", async () => {
    const file = join(folder, "store.db");
    const { warnings, logger } = warningsLogger();
    for (const mode of [0o600, 0o640]) {
      await using toolkit = new Toolkit({ store: sqliteStore({ file }), logger });
      await toolkit.start();
      await toolkit.close();
      await chmod(file, mode);
    }
    expect(warnings).toEqual([]);
    await using toolkit = new Toolkit({ store: sqliteStore({ file }), logger });
    await toolkit.start();
    expect(warnings).toEqual([expect.stringContaining(`${file} has mode 640`)]);
    expect(warnings[0]).toContain("chmod 600");
  });
});
