import { ToolkitError } from "../../core/error.ts";
import type { Toolbox } from "../../core/item.ts";
import { refGlob } from "../../core/ref-glob.ts";
import type { Session } from "../../core/session.ts";
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
  const entries = tools.length === 0 ? [] : await namedEntries(ref, tools, { toolbox, signal, session });
  const toolset = Toolset.ofEntries(toolbox, entries, { include: ["*"], policy, maxTokens });
  return ownTools.length === 0 ? toolset : toolset.add(...ownTools);
}

type LookupContext = Pick<RunToolsOptions, "toolbox" | "signal" | "session">;

async function namedEntries(
  ref: string,
  tools: readonly string[],
  lookup: LookupContext,
): Promise<readonly ToolEntry[]> {
  const names = tools.filter((name) => !isGlob(name));
  const named = await Promise.all(names.map((name) => entryOf(name, lookup)));
  if (names.length === tools.length) return inOrder(named);
  const globs = tools.filter(isGlob).map(refGlob);
  const { toolbox, ...options } = lookup;
  const { entries } = await toolbox.list({ kind: ["tool", "prompt"], ...options });
  // A tool and a prompt may share a ref: a name means the one that `lookup` finds, a glob means both.
  return entries.filter((entry) => {
    if (named.some(({ kind, ref }) => kind === entry.kind && ref === entry.ref)) return true;
    const isItself = entry.kind === "prompt" && entry.ref === ref;
    return !isItself && globs.some((fits) => fits(entry.ref));
  });
}

/** Each entry once, in the order of lists: tools first, then by ref. */
function inOrder(entries: readonly ToolEntry[]): readonly ToolEntry[] {
  const keyOf = ({ kind, ref }: ToolEntry) => `${kind === "tool" ? 0 : 1} ${ref}`;
  const distinct = new Map(entries.map((entry) => [keyOf(entry), entry]));
  return [...distinct].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
}

function isGlob(name: string): boolean {
  return /[*?]/.test(name);
}

async function entryOf(name: string, { toolbox, signal, session }: LookupContext): Promise<ToolEntry> {
  const entry = await toolbox.lookup(name, { signal, session }).catch((error: unknown) => {
    throw ToolkitError.is(error, "NOT_FOUND") ? noTool(name, error) : error;
  });
  if (entry.kind !== "resource") return entry;
  const message = `tools names ${name}, which is a resource: it can be read, not called`;
  throw new ToolkitError("INVALID_INPUT", `${message}.`, { issues: [{ pointer: "/tools", message }] });
}

/** A new error, of the prompt: that of the lookup would become the cause of a `TOOL_FAILED`. */
function noTool(name: string, cause: ToolkitError<"NOT_FOUND">): ToolkitError<"NOT_FOUND"> {
  return new ToolkitError("NOT_FOUND", `tools names ${JSON.stringify(name)}: ${cause.message}`, cause.details, {
    cause,
  });
}
