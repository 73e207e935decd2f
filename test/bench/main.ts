/** `npm run bench` runs every bench, `npm run bench -- NAME...` only those named; `--profile NAME` a profile of theirs, `search --data FOLDER` a corpus of tools. */
import { parseArgs } from "node:util";
import { project } from "../../script/support/project.ts";
import type { Bench } from "./harness.ts";
import { lineOf, report } from "./harness.ts";

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

const { positionals: named, values } = parseArgs({
  allowPositionals: true,
  options: { profile: { type: "string" }, data: { type: "string" } },
});
const { profile } = values;
const unknown = named.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(", ")}. There are ${Object.keys(benches).join(", ")}.`);
  process.exit(2);
}
for (const name of named.length > 0 ? named : Object.keys(benches)) {
  const load = benches[name];
  if (load === undefined) continue;
  const { bench } = await load();
  if (profile !== undefined && bench.profiles?.includes(profile) !== true) {
    console.error(`The bench ${name} has no profile ${profile}.`);
    process.exit(2);
  }
  const rows = await bench.run(profile, (row) => console.error(lineOf(row)));
  console.log(`${await report(bench, rows, project)}\n`);
}
