import type { ToolkitError } from "../core/error.ts";
import { findTarget, type TargetToolbox } from "../core/find-target.ts";
import type { Item } from "../core/item.ts";
import type { FieldPath } from "../lib/value.ts";
import type { ParsedManifest } from "./manifest-port.ts";

/** The tool that a tool of a manifest calls. */
interface RelayedCall extends Pick<ParsedManifest, "problem"> {
  readonly ref: string;
  /** The field that names it. */
  readonly path: FieldPath;
}

/** For tools of the mode `mcp`, which are few. */
const calls = new WeakMap<Item, RelayedCall>();

/** Notes the tool that another one calls, so that it can be looked for. */
export function noteCall(tool: Item, call: RelayedCall): void {
  calls.set(tool, call);
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
    const call = calls.get(item);
    if (call === undefined) continue;
    const found = await findTarget(call.ref, toolbox, { signal });
    if (typeof found !== "string") continue;
    missing.push(call.problem(call.path, `The tool that ${item.name} calls is not there: ${found}`, ""));
  }
  return missing;
}
