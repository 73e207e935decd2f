/**
 * `npm run bench` runs every bench, `npm run bench -- NAME...` only those named; `--profile NAME` a profile of theirs, `search --data FOLDER` a corpus of
 * tools. `--runs N` runs each N times, in a process of its own, and shows the medians; `--keep` writes them to results.json, from which
 * docs/performance.md is made. `--cpu-prof` shows where the processor time of each process of a bench went.
 */
import { parseArgs } from "node:util";
import { project } from "../../script/support/project.ts";
import type { Bench } from "./harness.ts";
import { lineOf, report } from "./harness.ts";
import { profiled } from "./profile.ts";
import { keep, repeated } from "./repeat.ts";

/** Loaded one by one: what one bench imports is not to weigh on another. */
const benches: Readonly<Record<string, () => Promise<{ readonly bench: Bench }>>> = {
  import: () => import("./import.ts"),
  call: () => import("./call.ts"),
  post: () => import("./post.ts"),
  lookup: () => import("./lookup.ts"),
  list: () => import("./list.ts"),
  cold: () => import("./cold.ts"),
  load: () => import("./load.ts"),
  gateway: () => import("./gateway.ts"),
  memory: () => import("./memory.ts"),
  prompts: () => import("./prompts.ts"),
  folder: () => import("./folder.ts"),
  search: () => import("./search.ts"),
  schema: () => import("./schema.ts"),
  toolset: () => import("./toolset.ts"),
  tracing: () => import("./tracing.ts"),
  steps: () => import("./steps.ts"),
  stores: () => import("./stores.ts"),
  user: () => import("./user.ts"),
  growth: () => import("./growth.ts"),
  agent: () => import("./agent/main.ts"),
};

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    profile: { type: "string" },
    data: { type: "string" },
    runs: { type: "string", default: "1" },
    keep: { type: "boolean", default: false },
    "cpu-prof": { type: "boolean", default: false },
  },
});
const { profile, data } = values;
const runs = Number(values.runs);
if (!Number.isSafeInteger(runs) || runs < 1) refuse(`--runs ${values.runs} is no number of runs.`);
const unknown = positionals.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0)
  refuse(`There is no bench ${unknown.join(", ")}. There are ${Object.keys(benches).join(", ")}.`);
const named = positionals.length > 0 ? positionals : Object.keys(benches);
/** The options that each process of a bench is started with. */
const passed = [
  ...(profile === undefined ? [] : ["--profile", profile]),
  ...(data === undefined ? [] : ["--data", data]),
];

if (values["cpu-prof"]) for (const name of named) console.log(await profiled(name, passed));
else if (runs > 1 || values.keep) await runInProcesses();
else await runHere();

async function runHere(): Promise<void> {
  for (const name of named) {
    const bench = await loaded(name);
    const rows = await bench.run(profile, (row) => console.error(lineOf(row)));
    console.log(`${await report(bench, rows, project)}\n`);
  }
}

/** The benches in turns: what the machine does for a while does not meet all runs of one. */
async function runInProcesses(): Promise<void> {
  for (const [name, comparisons] of await repeated(named, passed, runs)) {
    const bench = await loaded(name);
    console.log(`${await report(bench, comparisons, project)}\n`);
    if (values.keep) await keep(bench, comparisons, { passed, runs });
  }
}

async function loaded(name: string): Promise<Bench> {
  const load = benches[name];
  if (load === undefined) throw new Error(`There is no bench ${name}.`);
  const { bench } = await load();
  if (profile !== undefined && bench.profiles?.includes(profile) !== true)
    refuse(`The bench ${name} has no profile ${profile}.`);
  return bench;
}

function refuse(message: string): never {
  console.error(message);
  process.exit(2);
}
