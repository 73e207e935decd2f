import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { project } from "../../script/support/project.ts";
import { type Bench, type CleanUp, measureOnce, type Timing } from "./harness.ts";

/** Whole processes, from spawn to exit: what a service pays once, before its first line runs. Builds the package first. */
export const bench: Bench = {
  name: "import",
  targets: { import: { of: "ratio", must: 0.6, reach: 0.5 } },
  async run() {
    runNode(join(project, "script/build.ts"));
    const url = (path: string): string => JSON.stringify(pathToFileURL(join(project, path)).href);
    const sdk = "@modelcontextprotocol/sdk";
    const { bare, main, mcp, raw } = await measureOnce(
      {
        bare: () => evaluate(""),
        main: () => evaluate(`await import(${url("dist/index.js")});`),
        mcp: () => evaluate(`await import(${url("dist/index.js")}); await import(${url("dist/mcp/index.js")});`),
        raw: () => evaluate(`await import("${sdk}/client/index.js"); await import("${sdk}/server/index.js");`),
      },
      25,
    );
    const peer = { name: "SDK client + server", timing: raw };
    const overBare = ({ p50, p99, samples }: Timing): Timing => ({ p50: p50 - bare.p50, p99: p99 - bare.p50, samples });
    return [
      { name: "toolweave", target: "import", ours: main, peer },
      { name: "toolweave and toolweave/mcp", ours: mcp, peer },
      { name: "toolweave, over bare node", ours: overBare(main), peer: { name: peer.name, timing: overBare(raw) } },
      { name: "bare node", ours: bare, peer },
    ];
  },
};

function evaluate(program: string): CleanUp {
  runNode("--input-type=module", "--eval", program);
  return () => undefined;
}

function runNode(...args: readonly string[]): void {
  const { status, stderr, stdout } = spawnSync(process.execPath, args, { cwd: project, encoding: "utf8" });
  if (status !== 0) throw new Error(`node ${args.join(" ")} failed.\n${stdout}${stderr}`);
}
