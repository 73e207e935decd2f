import type { Toolbox } from "../../core/item.ts";
import { ChoosingRules, emptyScope } from "../../core/name-rules.ts";
import type { Session } from "../../core/session.ts";
import { isGlob } from "../../lib/glob.ts";
import { LookedUpNames, type NameLookup, namedTool } from "../../toolset/selection.ts";
import { Toolset } from "../../toolset/toolset.ts";
import type { RunPolicy, ToolEntry } from "../../toolset/toolset-types.ts";
import type { Task } from "./task.ts";

/** The source of the tools of a run, and their limits. */
export interface RunToolsOptions {
  readonly policy: RunPolicy;
  /** In tokens. */
  readonly maxTokens: number | undefined;
  readonly toolbox: Toolbox;
  readonly session: Session;
  readonly signal: AbortSignal;
}

/**
 * The tools of a run: those that its prompt names, by the rules of `lookup`, and those that match its globs, except the prompt itself.
 * Undefined for none.
 *
 * @throws ToolkitError `NOT_FOUND` and other errors of `lookup`; `INVALID_INPUT` for the name of a resource
 */
export async function offeredTools(
  { ref, tools = [], ownTools = [] }: Task,
  { toolbox, signal, session, policy, maxTokens }: RunToolsOptions,
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
  if (names.length === tools.length) return inOrder(named);
  const globs = new ChoosingRules(tools.filter(isGlob));
  const { toolbox, ...options } = lookup;
  const { entries } = await toolbox.list({ kind: ["tool", "prompt"], ...options });
  // A tool and a prompt may share a ref: a name means the one that `lookup` finds, a glob means both.
  return entries.filter((entry) => {
    if (named.some(({ kind, ref }) => kind === entry.kind && ref === entry.ref)) return true;
    const isItself = entry.kind === "prompt" && entry.ref === ref;
    return !isItself && globs.ruleFor(entry, emptyScope) !== undefined;
  });
}

/** Each entry once, in the order of lists: tools first, then by ref. */
function inOrder(entries: readonly ToolEntry[]): readonly ToolEntry[] {
  const keyOf = ({ kind, ref }: ToolEntry) => `${kind === "tool" ? 0 : 1} ${ref}`;
  const distinct = new Map(entries.map((entry) => [keyOf(entry), entry]));
  return [...distinct].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
}
