import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ModuleKind, ScriptTarget, transpileModule } from "typescript";
import { project } from "../../../script/support/project.ts";
import { type Comparison, timingOf } from "../harness.ts";
import { arePeersWanted, installPeer } from "../peer.ts";
import type { ModelServerOptions } from "../server/model.ts";
import { promptKitProgram } from "./promptkit/build.ts";
import type { SideOptions } from "./sides.ts";
import type { Cost, Load } from "./weigh.ts";

const execute = promisify(execFile);
const langChain = {
  "@langchain/core": "1.2.13",
  "@langchain/langgraph": "1.4.13",
  "@langchain/openai": "1.6.0",
  langchain: "1.5.14",
};
const answer: ModelServerOptions = { pieces: 32, pieceMs: 25 };
const loads = [
  { atOnce: 1, runs: 5 },
  { atOnce: 100, runs: 200 },
  { atOnce: 1_000, runs: 1_500 },
];
const rounds = 3;

/** The profile that PromptKit measures itself with: the model thinks, a tool is asked over HTTP, and the answer is streamed. */
const promptKit: ModelServerOptions = { firstMs: 100, toolMs: 500, pieces: 20, pieceMs: 30 };
const promptKitLoads = [100, 500, 1_000, 2_000].map((atOnce) => ({ atOnce, runs: 2 * atOnce }));

/** Many runs at once in one process, each with a tool call and a streamed answer; every side in processes of its own, in turns. */
export async function manyRunsAtOnce(): Promise<readonly Comparison[]> {
  const peers = arePeersWanted ? await langChainFiles() : undefined;
  return measured(answer, ["AI SDK", ...(peers === undefined ? [] : ["LangChain"])], loads, { peers });
}

/** The same in the profile of PromptKit, beside a client without any library too; with its checkout in BENCH_PROMPTKIT also beside itself. */
export async function promptKitRuns(): Promise<readonly Comparison[]> {
  const program = await promptKitProgram();
  const others = ["AI SDK", "node:http", ...(program === undefined ? [] : ["PromptKit"])];
  return measured(promptKit, others, promptKitLoads, { isFarTool: true }, { PromptKit: program });
}

async function measured(
  served: ModelServerOptions,
  others: readonly string[],
  wanted: readonly Pick<Load, "atOnce" | "runs">[],
  options: Omit<SideOptions, "url">,
  programs: Readonly<Record<string, string | undefined>> = {},
): Promise<readonly Comparison[]> {
  const folder = join(project, ".bench/agent");
  await mkdir(folder, { recursive: true });
  await execute(process.execPath, [join(project, "script/build.ts")], { cwd: project });
  await Promise.all(["sides", "weigh"].map((name) => compile(name, folder)));
  const sides = ["ours", ...others];
  await using model = await startModel(served);
  const comparisons: Comparison[] = [];
  for (const load of wanted) {
    const costs = new Map(sides.map((side) => [side, [] as Cost[]]));
    for (let round = 0; round < rounds; round += 1) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        const wanted = { ...load, ...options, side, url: model.url, pieces: served.pieces };
        costs.get(side)?.push(await weigh(folder, wanted, programs[side]));
      }
    }
    for (const side of others) {
      comparisons.push(...compared(load.atOnce, side, costs.get("ours") ?? [], costs.get(side) ?? []));
    }
  }
  return comparisons;
}

function compared(atOnce: number, side: string, ours: readonly Cost[], theirs: readonly Cost[]): Comparison[] {
  const isTarget = (field: keyof Cost): boolean =>
    atOnce === 1_000 && side === "AI SDK" && (field === "peakBytes" || field === "cpu");
  const row = (field: keyof Cost, name: string): Comparison => ({
    name: `${atOnce} at once, ${name}`,
    ...(field === "peakBytes" ? { unit: "bytes" as const } : {}),
    ...(isTarget(field) ? { target: field } : {}),
    ours: timingOf(ours.map((cost) => cost[field])),
    peer: { name: side, timing: timingOf(theirs.map((cost) => cost[field])) },
  });
  const most = row("peakBytes", "most memory");
  const { name, unit, ours: weighed } = most;
  const absolute = most.target === undefined ? [] : [{ name, unit, ours: weighed, target: "348 MB" } as Comparison];
  return [
    ...absolute,
    most,
    row("cpu", "processor time a run"),
    row("wall", "time a run's share"),
    row("firstText", "to the first text"),
  ];
}

async function weigh(folder: string, load: Load, program?: string): Promise<Cost> {
  const [command, ...files] = program === undefined ? [process.execPath, join(folder, "weigh.js")] : [program];
  const { stdout } = await execute(command, [...files, JSON.stringify(load)], { cwd: project, maxBuffer: 2 ** 28 });
  return JSON.parse(stdout);
}

/** The files of what the side of LangChain loads. */
async function langChainFiles(): Promise<Readonly<Record<string, string>>> {
  const peer = await installPeer("langchain-agent", langChain);
  const names = ["langchain", "@langchain/core/tools", "@langchain/openai"];
  return Object.fromEntries(names.map((name) => [name, peer.resolve(name)]));
}

/** As JavaScript, so that what takes the types away does not count. */
async function compile(name: string, folder: string): Promise<void> {
  const source = await readFile(new URL(`./${name}.ts`, import.meta.url), "utf8");
  const { outputText } = transpileModule(source, {
    compilerOptions: { module: ModuleKind.ESNext, target: ScriptTarget.ES2023, rewriteRelativeImportExtensions: true },
  });
  await writeFile(join(folder, `${name}.js`), outputText);
}

async function startModel(served: ModelServerOptions): Promise<AsyncDisposable & { readonly url: string }> {
  const file = fileURLToPath(new URL("../server/model.ts", import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify(served)], { stdio: ["pipe", "pipe", "inherit"] });
  const [url] = await once(createInterface(child.stdout), "line");
  const end = async () => {
    const ended = once(child, "exit");
    child.stdin.end();
    await ended;
  };
  return { url, [Symbol.asyncDispose]: end };
}
