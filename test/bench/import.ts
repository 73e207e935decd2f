import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { project } from "../../script/support/project.ts";
import { type Bench, timingOf } from "./harness.ts";

const rounds = 25;

/** Whole processes: what a service pays once, before its first line runs. Needs `npm run build`. */
export const bench: Bench = {
  name: "import",
  targets: { import: { of: "ratio", must: 1.1, reach: 0.75 } },
  async run() {
    const built = spawnSync(process.execPath, [join(project, "script/build.ts")], { stdio: "inherit" });
    if (built.status !== 0) throw new Error("The build failed: there is nothing to import.");
    const url = (path: string): string => JSON.stringify(pathToFileURL(join(project, path)).href);
    const sdk = "@modelcontextprotocol/sdk";
    const programs = {
      bare: "",
      ours: `await import(${url("dist/index.js")});`,
      mcp: `await import(${url("dist/index.js")}); await import(${url("dist/mcp/index.js")});`,
      raw: `await import("${sdk}/client/index.js"); await import("${sdk}/server/index.js");`,
    };
    const samples = { bare: [] as number[], ours: [] as number[], mcp: [] as number[], raw: [] as number[] };
    for (let round = -2; round < rounds; round += 1) {
      for (const [name, program] of Object.entries(programs) as [keyof typeof programs, string][]) {
        const took = wholeProcess(program);
        if (round >= 0) samples[name].push(took);
      }
    }
    const bare = timingOf(samples.bare);
    const raw = { name: "SDK client + server", timing: timingOf(samples.raw) };
    const over = (all: readonly number[]): ReturnType<typeof timingOf> => timingOf(all.map((took) => took - bare.p50));
    return [
      { name: "toolweave", target: "import", ours: timingOf(samples.ours), peer: raw },
      { name: "toolweave + toolweave/mcp", ours: timingOf(samples.mcp), peer: raw },
      { name: "bare node", ours: bare, peer: raw },
      {
        name: "toolweave, over bare node",
        ours: over(samples.ours),
        peer: { name: raw.name, timing: over(samples.raw) },
      },
    ];
  },
};

/** Microseconds from spawn to exit. */
function wholeProcess(program: string): number {
  const started = process.hrtime.bigint();
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", program], { cwd: project });
  if (status !== 0) throw new Error(`The import failed.\n${stderr}`);
  return Number(process.hrtime.bigint() - started) / 1000;
}
