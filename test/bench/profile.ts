import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { project } from "../../script/support/project.ts";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
const shownFunctions = 25;

/** The parts of a `.cpuprofile` of V8 that are read. */
interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  /** Microseconds between samples. */
  readonly timeDeltas: readonly number[];
}

/** Runs a bench under the profiler of V8, and gives the functions that took most time themselves, for each of its processes. */
export async function profiled(name: string, passed: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "toolweave-profile-"));
  try {
    // By the environment, so that the processes that a bench starts are profiled too.
    const NODE_OPTIONS = [process.env.NODE_OPTIONS, "--cpu-prof", `--cpu-prof-dir=${folder}`].join(" ").trim();
    const child = spawn(process.execPath, [main, name, ...passed], {
      stdio: ["ignore", "ignore", "inherit"],
      env: { ...process.env, NODE_OPTIONS },
    });
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`The bench ${name} ended with ${code}.`);
    const files = (await readdir(folder)).sort();
    const tables = await Promise.all(
      files.map(async (file) => `${name}, ${file}\n${tableOf(JSON.parse(await readFile(join(folder, file), "utf8")))}`),
    );
    return tables.join("\n\n");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function tableOf({ nodes, samples, timeDeltas }: CpuProfile): string {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const spent = new Map<string, number>();
  let busy = 0;
  for (const [at, id] of samples.entries()) {
    const { functionName = "", url = "", lineNumber = 0 } = frames.get(id) ?? {};
    if (functionName === "(idle)") continue;
    const place = url === "" ? "" : ` ${shortPlace(url)}:${lineNumber + 1}`;
    const key = `${functionName === "" ? "(anonymous)" : functionName}${place}`;
    const took = timeDeltas[at] ?? 0;
    spent.set(key, (spent.get(key) ?? 0) + took);
    busy += took;
  }
  const most = [...spent].sort(([, a], [, b]) => b - a).slice(0, shownFunctions);
  return most.map(([key, took]) => `${((100 * took) / busy).toFixed(1).padStart(5)} %  ${key}`).join("\n");
}

/** A module as a reader of the project finds it. */
function shortPlace(url: string): string {
  const path = url.startsWith("file:") ? fileURLToPath(url) : url;
  return path.startsWith(`${project}/`) ? path.slice(project.length + 1) : path;
}
