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

/** Many runs at once in one process, each with a tool call and a streamed answer; every side in processes of its own, in turns. */
export async function manyRunsAtOnce(): Promise<readonly Comparison[]> {
  const folder = join(project, ".bench/agent");
  await mkdir(folder, { recursive: true });
  await execute(process.execPath, [join(project, "script/build.ts")], { cwd: project });
  await Promise.all(["sides", "weigh"].map((name) => compile(name, folder)));
  const peers = arePeersWanted ? await langChainFiles() : undefined;
  const sides = ["ours", "AI SDK", ...(peers === undefined ? [] : ["LangChain"])];
  await using model = await startModel();
  const comparisons: Comparison[] = [];
  for (const load of loads) {
    const costs = new Map(sides.map((side) => [side, [] as Cost[]]));
    for (let round = 0; round < rounds; round += 1) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        costs.get(side)?.push(await weigh(folder, { ...load, side, url: model.url, peers, pieces: answer.pieces }));
      }
    }
    for (const side of sides.slice(1)) {
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

async function weigh(folder: string, load: Load): Promise<Cost> {
  const { stdout } = await execute(process.execPath, [join(folder, "weigh.js"), JSON.stringify(load)], {
    cwd: project,
    maxBuffer: 2 ** 24,
  });
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

async function startModel(): Promise<AsyncDisposable & { readonly url: string }> {
  const file = fileURLToPath(new URL("../server/model.ts", import.meta.url));
  const child = spawn(process.execPath, [file, JSON.stringify(answer)], { stdio: ["pipe", "pipe", "inherit"] });
  const [url] = await once(createInterface(child.stdout), "line");
  const end = async () => {
    const ended = once(child, "exit");
    child.stdin.end();
    await ended;
  };
  return { url, [Symbol.asyncDispose]: end };
}
