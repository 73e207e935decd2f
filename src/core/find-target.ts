import { ToolkitError } from "./error.ts";
import type { Entry, Toolbox } from "./item.ts";

/** The part of a toolbox that finds what a file names. */
export type TargetToolbox = Pick<Toolbox, "list" | "lookup">;

/**
 * The item that a file names by its key, of a kind or of any that can be called; a sentence where there is none, and undefined where that is not known, such as of a server that
 * has not connected yet.
 *
 * @throws the reason of an aborted signal
 */
export async function findTarget(
  key: string,
  toolbox: TargetToolbox,
  { kind, signal }: { readonly kind?: "tool" | "prompt"; readonly signal: AbortSignal | undefined },
): Promise<Entry | string | undefined> {
  try {
    return await toolbox.lookup(key, kind === undefined ? { signal } : { kind, signal });
  } catch (error) {
    signal?.throwIfAborted();
    if (ToolkitError.is(error, "AMBIGUOUS_NAME")) return error.message;
    if (ToolkitError.is(error, "NOT_FOUND")) return (await isUnknown(key, toolbox, signal)) ? undefined : error.message;
    if (ToolkitError.is(error)) return undefined;
    throw error;
  }
}

/** True where a namespace that may have the name could not be listed. */
async function isUnknown(key: string, toolbox: TargetToolbox, signal: AbortSignal | undefined): Promise<boolean> {
  const { failures } = await toolbox.list({ kind: ["tool", "prompt"], limit: 0, signal });
  return failures.some(({ namespace }) => !key.includes(".") || key.startsWith(`${namespace}.`));
}
