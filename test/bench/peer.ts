import { spawnSync } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { project } from "../../script/support/project.ts";

/** True with BENCH_PEERS=1: others are installed and measured too. */
export const arePeersWanted = process.env.BENCH_PEERS === "1";

/** Installs packages, in these versions, into an ignored folder of their own, where they are not there yet; gives what loads them. */
export async function installPeer(name: string, versions: Readonly<Record<string, string>>): Promise<NodeJS.Require> {
  const manifest = JSON.stringify({ private: true, dependencies: versions });
  const folder = await installed(name, manifest, async (empty) => {
    await writeFile(join(empty, "package.json"), manifest);
    const npm = process.platform === "win32" ? "npm.cmd" : "npm";
    install(name, npm, ["install", "--ignore-scripts", "--no-audit", "--no-fund"], empty);
  });
  return createRequire(join(folder, "package.json"));
}

/** Installs Python packages, such as `mcp==2.3.0`, into an environment of their own; gives the folder of its commands. */
export async function installPythonPeer(name: string, ...packages: readonly string[]): Promise<string> {
  const commands = process.platform === "win32" ? "Scripts" : "bin";
  const folder = await installed(name, packages.join(" "), async (empty) => {
    install(name, "python3", ["-m", "venv", "venv"], empty);
    install(name, join(empty, "venv", commands, "pip"), ["install", "-q", ...packages], empty);
  });
  return join(folder, "venv", commands);
}

/** Builds a program of Go, whose sources and `go.mod` are given by name; gives its file. */
export async function buildGoPeer(name: string, sources: Readonly<Record<string, string>>): Promise<string> {
  const folder = await installed(name, JSON.stringify(sources), async (empty) => {
    for (const [file, text] of Object.entries(sources)) await writeFile(join(empty, file), text);
    install(name, "go", ["mod", "tidy"], empty);
    install(name, "go", ["build", "-o", "program", "."], empty);
  });
  return join(folder, "program");
}

/** The folder of a peer, filled where it is not what is wanted. */
async function installed(name: string, wanted: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(project, ".bench/peers", name);
  const done = join(folder, "installed.json");
  if ((await readFile(done, "utf8").catch(() => "")) === wanted) return folder;
  await mkdir(folder, { recursive: true });
  await fill(folder);
  await writeFile(done, wanted);
  return folder;
}

/** @throws Error where the command is not there, or fails */
function install(name: string, command: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
  if (error !== undefined) throw new Error(`${name} needs ${command}, which cannot be run: ${error.message}`);
  if (status !== 0)
    throw new Error(`${name} could not be installed: ${command} ${args.join(" ")} exited with ${status}`);
}
