import { ToolkitError } from "../core/error.ts";
import type { Toolbox } from "../core/item.ts";
import type { Session } from "../core/session.ts";
import { Toolset } from "../toolset/toolset.ts";
import type { RunPolicy } from "../toolset/types.ts";
import type { Task } from "./task.ts";

/** How the tools of a run are offered. */
export interface OfferOptions {
  readonly policy: RunPolicy;
  /** In tokens. */
  readonly maxTokens: number | undefined;
  readonly toolbox: Toolbox;
  readonly session: Session;
  readonly signal: AbortSignal;
}

/**
 * What the model of a run may use: what its prompt names, by the rules of `lookup`, and what fits its globs, but not the prompt itself.
 * Undefined where that is nothing.
 *
 * @throws ToolkitError `NOT_FOUND` and the like for a name that means nothing, `INVALID_INPUT` for one that can be read and not called
 */
export async function offeredTools(
  { ref, tools = [], ownTools = [] }: Task,
  { toolbox, signal, session, policy, maxTokens }: OfferOptions,
): Promise<Toolset | undefined> {
  if (tools.length === 0 && ownTools.length === 0) return undefined;
  const refs = await Promise.all(
    tools.map(async (name) => (isGlob(name) ? name : await refOf(name, { toolbox, signal, session }))),
  );
  const named = new Set(refs);
  const isListed = !named.has(ref) && (await toolbox.list({ kind: "prompt", name: ref, signal, session })).count > 0;
  const exclude = isListed ? [ref] : [];
  const toolset = await Toolset.of(toolbox, { include: refs, exclude, policy, maxTokens, signal, session });
  return ownTools.length === 0 ? toolset : toolset.add(...ownTools);
}

function isGlob(name: string): boolean {
  return /[*?]/.test(name);
}

async function refOf(
  name: string,
  { toolbox, signal, session }: Pick<OfferOptions, "toolbox" | "signal" | "session">,
): Promise<string> {
  const entry = await toolbox.lookup(name, { signal, session });
  if (entry.kind !== "resource") return entry.ref;
  const message = `tools names ${name}, which is a resource: it can be read, and not called`;
  throw new ToolkitError("INVALID_INPUT", `${message}.`, { issues: [{ pointer: "/tools", message }] });
}
