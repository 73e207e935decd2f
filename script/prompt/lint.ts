import { formatLint, lintPrompts } from "../../src/prompt/lint/lint-prompts.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import type { LintCommand } from "./command.ts";
import { addNeighbours } from "./folder.ts";
import { connectServers } from "./servers.ts";

/** Prints what is wrong with prompts. @returns the exit code: hints are no problem */
export async function lint({ paths, models, recursive, mcp, json }: LintCommand, signal: AbortSignal): Promise<number> {
  await using toolkit = new Toolkit();
  if (mcp !== undefined) {
    await connectServers(toolkit, mcp, signal);
    for (const path of paths) await addNeighbours(toolkit, path, signal);
  }
  const report = await lintPrompts(paths, {
    models: models.length === 0 ? undefined : models,
    toolbox: mcp === undefined ? undefined : toolkit,
    recursive,
    signal,
  });
  process.stdout.write(json ? `${JSON.stringify(report, undefined, 2)}\n` : formatLint(report));
  return report.problems.some(({ severity }) => severity !== "hint") ? 1 : 0;
}
