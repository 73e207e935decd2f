import { mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../../script/support/run.ts";

/** A runtime from npm: how its program is started, or why it cannot be had on this machine. */
export interface Runtime {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly missing: string | undefined;
}

const runtimes = [
  { name: "Bun", install: "bun", program: "bun", args: [] },
  { name: "Deno", install: "deno", program: "deno", args: ["run", "--allow-all"] },
  { name: "Node 22.13.0", install: "node@22.13.0", program: "node", args: [] },
  { name: "Node 24", install: "node@24", program: "node", args: [] },
  { name: "Node 26", install: "node@26", program: "node", args: [] },
] as const;

/** Installs each runtime into a folder of its own; the caller removes the folder that holds them. */
export async function installRuntimes(): Promise<{ readonly folder: string; readonly runtimes: readonly Runtime[] }> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "toolweave-runtimes-"));
  const installed: Runtime[] = [];
  for (const [at, { name, install, program, args }] of runtimes.entries()) {
    const home = join(folder, String(at));
    const command = join(home, "node_modules", ".bin", program);
    const npm = ["install", "--prefix", home, "--no-audit", "--no-fund", install];
    const result = await run("npm", npm, { timeoutMs: 180_000 });
    const version = result.failure === undefined ? await run(command, ["--version"], { timeoutMs: 30_000 }) : result;
    const missing = version.failure === undefined ? undefined : `${install} cannot be installed: ${version.failure}`;
    await writeFile(join(folder, `${at}.log`), result.output);
    installed.push({ name, command, args, missing });
  }
  return { folder, runtimes: installed };
}
