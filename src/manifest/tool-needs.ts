import { messageOf, type ToolkitError } from "../core/error.ts";
import { findTarget, type TargetToolbox } from "../core/find-target.ts";
import type { Item } from "../core/item.ts";
import type { ManifestRun, ManifestTool } from "./manifest-port.ts";

/** The needs of a tool of a manifest, with the error of a field. */
interface Needs extends Pick<ManifestRun, "calls" | "check">, Pick<ManifestTool, "problem"> {}

/** For tools of the modes `mcp` and `a2a`, which are few. */
const needs = new WeakMap<Item, Needs>();

/** Notes the tool that another one calls, and the check of the agent that it asks, so that they can be looked for. */
export function noteNeeds(tool: Item, { calls, check }: ManifestRun, { problem }: ManifestTool): void {
  if (calls !== undefined || check !== undefined) needs.set(tool, { calls, check, problem });
}

/**
 * Looks for the tools that tools of manifests call. Nothing is said of a server that is not connected: it may have them.
 *
 * @returns an error for each that is not there, with file, line and column: its tool fails when it is called
 * @throws the reason of an aborted signal
 */
export async function missingTargets(
  items: Iterable<Item>,
  { toolbox, signal }: { readonly toolbox: TargetToolbox; readonly signal?: AbortSignal | undefined },
): Promise<readonly ToolkitError<"INVALID_MANIFEST">[]> {
  const missing: ToolkitError<"INVALID_MANIFEST">[] = [];
  for (const item of items) {
    const { calls, problem } = needs.get(item) ?? {};
    if (calls === undefined || problem === undefined) continue;
    const found = await findTarget(calls.ref, toolbox, { signal });
    if (typeof found !== "string") continue;
    missing.push(problem(calls.path, `The tool that ${item.name} calls is not there: ${found}`, ""));
  }
  return missing;
}

/**
 * Asks the agents of tools of manifests whether they are there.
 *
 * @returns an error for each that is not, or has not what the manifest names, with file, line and column
 * @throws the reason of an aborted signal
 */
export async function unreachedAgents(
  items: Iterable<Item>,
  signal: AbortSignal,
): Promise<readonly ToolkitError<"INVALID_MANIFEST">[]> {
  const checks = [...items].map(async (item) => {
    const { check, problem } = needs.get(item) ?? {};
    if (check === undefined || problem === undefined) return [];
    try {
      await check.run(signal);
      return [];
    } catch (cause) {
      signal.throwIfAborted();
      return [problem(check.path, `${item.name} cannot ask its agent: ${messageOf(cause)}`, "", { cause })];
    }
  });
  return (await Promise.all(checks)).flat();
}
