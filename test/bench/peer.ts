import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { project } from "../../script/support/project.ts";

/** True with BENCH_PEERS=1: others are installed and measured too. */
export const arePeersWanted = process.env.BENCH_PEERS === "1";

/** Installs packages, in these versions, into an ignored folder of their own, where they are not there yet; gives what loads them. */
export async function installPeer(name: string, versions: Readonly<Record<string, string>>): Promise<NodeJS.Require> {
  const folder = join(project, ".bench/peers", name);
  const manifest = JSON.stringify({ private: true, dependencies: versions });
  const done = join(folder, "installed.json");
  if ((await readFile(done, "utf8").catch(() => "")) !== manifest) {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "package.json"), manifest);
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    const { status } = spawnSync(npm, ["install", "--ignore-scripts", "--no-audit", "--no-fund"], {
      cwd: folder,
      stdio: "inherit",
    });
    if (status !== 0) throw new Error(`The peer ${name} could not be installed.`);
    await writeFile(done, manifest);
  }
  return createRequire(join(folder, "package.json"));
}
