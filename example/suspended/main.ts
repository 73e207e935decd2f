// An agent waits for an approval, and its process is killed. Another process with the same file goes on where it was.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = await mkdtemp(join(tmpdir(), "toolweave-suspended-"));
const service = (what: string) => {
  const file = fileURLToPath(new URL("service.ts", import.meta.url));
  return spawnSync(process.execPath, [file, what, join(folder, "store.db")], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
};
try {
  const first = service("begin");
  console.log(first.stdout.trim());
  assert.equal(first.signal, "SIGKILL");
  const second = service("go-on");
  console.log(second.stdout.trim());
  assert.equal(second.stdout.trim(), "The bill is paid.");
  assert.equal(second.status, 0);
} finally {
  await rm(folder, { recursive: true, force: true });
}
