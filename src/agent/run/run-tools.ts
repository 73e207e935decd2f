import type { Toolbox } from "../../core/item.ts";
import { ChoosingRules, emptyScope } from "../../core/name-rules.ts";
import type { Session } from "../../core/session.ts";
import { isGlob } from "../../lib/glob.ts";
import { LookedUpNames, type NameLookup, namedTool } from "../../toolset/selection.ts";
import { Toolset } from "../../toolset/toolset.ts";
import type { RunPolicy, ToolEntry } from "../../toolset/toolset-types.ts";
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
  const lookup = { toolbox, signal, session };
  const entries = tools.length === 0 ? [] : await namedEntries(ref, tools, lookup);
  const names = new LookedUpNames();
  await names.allow(policy.allow, lookup);
  const toolset = Toolset.ofEntries(toolbox, entries, { include: ["*"], policy, maxTokens }, names);
  return ownTools.length === 0 ? toolset : toolset.add(...ownTools);
}

async function namedEntries(ref: string, tools: readonly string[], lookup: NameLookup): Promise<readonly ToolEntry[]> {
  const names = tools.filter((name) => !isGlob(name));
  const named = await Promise.all(names.map((name) => namedTool("tools", name, lookup)));
  const globs = new ChoosingRules(tools.filter(isGlob));
  const { toolbox, ...options } = lookup;
  const { entries } = await toolbox.list({ kind: ["tool", "prompt"], ...options });
  // A tool and a prompt may share a ref: a name means the one that `lookup` finds, a glob both.
  return entries.filter((entry) => {
    if (named.some(({ kind, ref }) => kind === entry.kind && ref === entry.ref)) return true;
    const isItself = entry.kind === "prompt" && entry.ref === ref;
    return !isItself && globs.ruleFor(entry, emptyScope) !== undefined;
  });
}
