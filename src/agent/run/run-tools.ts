import { ToolWriter } from "../../adapters/tool-writer.ts";
import { mayCall, wayWithin } from "../../call/call-way.ts";
import type { CallContext } from "../../core/item.ts";
import { assertRules, ChoosingRules, emptyScope } from "../../core/name-rules.ts";
import { isGlob } from "../../lib/glob.ts";
import { inlineEntries } from "../../toolset/inline-entries.ts";
import type { RunTool } from "../../toolset/run-tool.ts";
import {
  contradiction,
  exclusiveOf,
  isExclusive,
  LookedUpNames,
  type NameLookup,
  namedTool,
} from "../../toolset/selection.ts";
import { Toolset } from "../../toolset/toolset.ts";
import type { ToolEntry } from "../../toolset/toolset-types.ts";
import type { KnownLimits, ParsedAgentOptions } from "../agent-options.ts";
import { writePortTool } from "./model-request.ts";
import type { Task } from "./task.ts";
import type { RunTools } from "./tool-turn.ts";

/** The call around a run, and the limits of its tools. */
export interface OfferOptions {
  readonly context: CallContext;
  readonly signal: AbortSignal;
  readonly options: ParsedAgentOptions;
  readonly limits: KnownLimits;
}

/**
 * The tools of a run: those that its prompt names, by the rules of `lookup`, those that match its globs, except the prompt itself, and those
 * that are forced. An exclusive tool that is named is offered alone. Undefined for none, and where the policy lets none be called.
 *
 * @throws ToolkitError `NOT_FOUND` and other errors of `lookup`; `INVALID_INPUT` for the name of a resource, and for exclusive tools that
 *   contradict each other
 */
export async function offeredTools(
  { ref, tools = [], ownTools = [], forced: forcedNames = [] }: Task,
  { context, signal, options, limits }: OfferOptions,
): Promise<Toolset | undefined> {
  const { toolbox, session } = context;
  if (tools.length === 0 && ownTools.length === 0 && forcedNames.length === 0) return undefined;
  if (options.policy.toolChoice === "none") return undefined;
  const lookup = { toolbox, signal, session };
  const { policy, maxDefinitionTokens: maxTokens, embed } = options;
  const maxTotalToolCalls = Math.min(policy.maxTotalToolCalls ?? limits.maxToolCalls, limits.maxToolCalls);
  const named = tools.length === 0 ? [] : callable(await namedEntries(ref, tools, lookup), ref, context);
  const own = ownTools.length === 0 ? [] : inlineEntries(ownTools);
  const forced = forcedNames.length === 0 ? [] : await forcedEntries(forcedNames, own, lookup);
  const [refused] = forced.filter((entry) => !mayCall(context, entry));
  if (refused !== undefined)
    throw contradiction(
      `${refused.ref} is forced, and the option user.tools does not name it for the stored prompt ${ref}`,
    );
  const { entries, ...choice } = chosenTools([...(named ?? []), ...own], forced);
  if (entries.length === 0) return undefined;
  const scope = policy.allow && (await LookedUpNames.of(policy.allow, lookup));
  const rules = scope === undefined ? options.rules : options.rules?.within(scope);
  const limited = { ...policy, maxTotalToolCalls };
  return Toolset.ofEntries({ toolbox, entries, ...choice, policy: limited, rules, maxTokens, embed });
}

/** An exclusive tool stands alone: one that is forced, else one that the prompt names. */
function chosenTools(named: readonly ToolEntry[], forced: readonly ToolEntry[]) {
  if (forced.length === 0 && !named.some(isExclusive)) return { entries: named, forced };
  const alone = exclusiveOf("forced", forced);
  if (alone !== undefined) return { entries: [alone], forced: [alone] };
  const [own] = forced.length === 0 ? [exclusiveOf("tools", named)] : named.filter(isExclusive);
  if (own === undefined) return { entries: inOrder([...named, ...forced]), forced };
  if (forced.length === 0) return { entries: [own], forced };
  throw contradiction(`${own.ref} is exclusive and must be offered alone, and others are forced`);
}

/**
 * The tools that the caller of a run forces: its own by their names, others as `lookup` finds them.
 *
 * @throws ToolkitError `INVALID_CONFIG` for what is no list of names; as `namedTool`
 */
async function forcedEntries(
  names: readonly string[],
  own: readonly ToolEntry[],
  lookup: NameLookup,
): Promise<readonly ToolEntry[]> {
  assertRules(names, "forced", "of a run");
  const found = new Map(own.flatMap((entry) => [entry.name, entry.ref].map((name) => [name, entry] as const)));
  const others = names.filter((name) => !found.has(name));
  const named = await Promise.all(others.map((name) => namedTool("forced", name, lookup)));
  return inOrder([...names.flatMap((name) => found.get(name) ?? []), ...named]);
}

/**
 * The entries that the prompt may call: a stored one of a principal may call only what the operator named. Undefined where it may call
 * none of them.
 */
function callable(entries: readonly ToolEntry[], ref: string, context: CallContext): readonly ToolEntry[] | undefined {
  const refused = entries.filter((entry) => !mayCall(context, entry));
  if (refused.length === 0) return entries;
  const message = `The model of the stored prompt ${ref} is not offered ${refused.length} of its ${entries.length} tools: the option user.tools of the toolkit does not name them.`;
  context.logger.debug(message, { refused: refused.map((entry) => entry.ref) });
  return refused.length === entries.length ? undefined : entries.filter((entry) => !refused.includes(entry));
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
    // A glob chooses no exclusive tool: it would hide all others.
    return !isItself && !isExclusive(entry) && globs.ruleFor(entry, emptyScope) !== undefined;
  });
}

/** Each entry once, in the order of lists: tools first, then by ref. */
function inOrder(entries: readonly ToolEntry[]): readonly ToolEntry[] {
  if (entries.length < 2) return entries;
  const keyOf = ({ kind, ref }: ToolEntry) => `${kind === "tool" ? 0 : 1} ${ref}`;
  const distinct = new Map(entries.map((entry) => [keyOf(entry), entry]));
  return [...distinct].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
}

/** The call around a run, as far as the calls of its tools need it. */
export interface ToolCallOptions {
  readonly context: CallContext;
  readonly signal: AbortSignal;
  /** Calls that the conversation has made so far. */
  readonly toolCalls: number;
  /** Turns that the run has had so far. */
  readonly turns: number;
}

/**
 * Begins to use the tools. The calls go through the toolbox of the call around the run, so they inherit its session, trace, policy and
 * depth. Where middleware gave that another toolbox, they still say which calls led to them.
 *
 * @param own - tools that the run executes itself
 */
export function beginTools(
  set: Toolset,
  own: readonly RunTool[],
  { context, signal, toolCalls, turns }: ToolCallOptions,
): RunTools {
  const { session, meta, depth } = context;
  const listener = context.hasListener ? { onEvent: context.emit.bind(context) } : {};
  const via = wayWithin(context);
  const options = { session, meta, signal, toolCalls, turns, depth: depth + 1, via, ...listener };
  const run = Toolset.beginWith(set, options, own);
  return { run, port: new ToolWriter(run, writePortTool), set };
}
