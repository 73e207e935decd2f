import { definitionOf } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import { invalidOption, type OptionNames } from "../core/options.ts";
import { refGlob } from "../core/ref-glob.ts";
import { nearest } from "../lib/similar.ts";
import type { ToolEntry } from "./toolset-types.ts";

/** Which tools one model run may use. */
export interface Selection {
  /** Globs on refs, such as `weather.*`, or bare names of builtins. Default: every tool. Prompts are taken only where they are named here. */
  readonly include?: readonly string[] | undefined;
  /** Globs on refs: what fits is not there. A ref without `*` or `?` that nothing has is `NOT_FOUND`. */
  readonly exclude?: readonly string[] | undefined;
  /** Refs to be called in the first turn: one is the tool choice, of several only these are offered and one is required. */
  readonly forced?: readonly string[] | undefined;
}

export const selectionNames: OptionNames<Selection> = { include: true, exclude: true, forced: true };

/** @throws ToolkitError `INVALID_CONFIG` for what is no list of globs or refs */
export function assertGlobs(name: keyof Selection, list: unknown, owner: string): void {
  if (list === undefined || (Array.isArray(list) && list.every((each) => typeof each === "string"))) return;
  throw invalidOption(name, `a list of ${name === "forced" ? "refs" : "globs on refs"}`, list, owner);
}

/** What a selection comes to. */
export interface Selected {
  /** What is offered, in the order of lists. */
  readonly offered: readonly ToolEntry[];
  readonly forced: ReadonlySet<ToolEntry>;
}

/**
 * Chooses. An exclusive tool is there only when it is forced, and then alone.
 *
 * @throws ToolkitError `NOT_FOUND` for a forced or excluded ref nothing has, `INVALID_INPUT` for one that is forced and excluded, or
 *   exclusive and forced with another
 */
export function select(entries: readonly ToolEntry[], { include, exclude = [], forced = [] }: Selection): Selected {
  const included = include === undefined ? undefined : include.map(fitting);
  const candidates = entries.filter((entry) =>
    included === undefined ? entry.kind === "tool" : included.some((fits) => fits(entry)),
  );
  for (const pattern of exclude) if (!/[*?]/.test(pattern)) find(entries, pattern, "excluded");
  const excluded = exclude.map(fitting);
  const isExcluded = (entry: ToolEntry) => excluded.some((fits) => fits(entry));
  const chosen = new Set(forced.map((ref) => find(entries, ref, "forced")));
  const both = [...chosen].find(isExcluded);
  if (both !== undefined) throw contradiction(`${both.ref} is forced and excluded`);
  const exclusive = [...chosen].filter(isExclusive);
  const [alone] = exclusive;
  if (alone !== undefined) {
    if (chosen.size > 1) throw contradiction(`${alone.ref} is exclusive, and forced together with others`);
    return { offered: [alone], forced: chosen };
  }
  const offered = new Set(candidates.filter((entry) => !isExcluded(entry) && !isExclusive(entry)));
  return { offered: entries.filter((entry) => offered.has(entry) || chosen.has(entry)), forced: chosen };
}

/** Why an entry is not offered; undefined where it is. */
export function hidingRule(entry: ToolEntry, selection: Selection, forced: ReadonlySet<ToolEntry>): string | undefined {
  if (forced.has(entry)) return undefined;
  const { include, exclude = [] } = selection;
  const alone = [...forced].find(isExclusive);
  if (alone !== undefined) return `${alone.ref} is exclusive and forced, and so it is offered alone`;
  if (include === undefined && entry.kind === "prompt") return "a prompt is offered only where include names it";
  if (include !== undefined && !include.some((pattern) => fitting(pattern)(entry)))
    return `nothing of include fits it: ${include.join(", ")}`;
  const excluding = exclude.find((pattern) => fitting(pattern)(entry));
  if (excluding !== undefined) return `exclude ${excluding}`;
  return isExclusive(entry) ? "it is exclusive, and offered only where it is forced" : undefined;
}

function isExclusive(entry: ToolEntry): boolean {
  return definitionOf(entry).options?.exclusive === true;
}

/** Whether an entry fits a glob. */
function fitting(pattern: string): (entry: ToolEntry) => boolean {
  const fits = refGlob(pattern);
  return ({ ref }) => fits(ref);
}

function find(entries: readonly ToolEntry[], key: string, how: string): ToolEntry {
  const fits = fitting(key);
  const found =
    entries.find((entry) => entry.ref === key) ?? entries.find((entry) => entry.name === key || fits(entry));
  if (found !== undefined) return found;
  const refs = entries.map(({ ref }) => ref);
  const suggestions = nearest(key, refs, 3);
  const hint = suggestions.length === 0 ? "" : ` Did you mean ${suggestions.map((ref) => `\`${ref}\``).join(", ")}?`;
  throw new ToolkitError("NOT_FOUND", `The tool "${key}" is ${how}, and there is none.${hint}`, { key, suggestions });
}

function contradiction(message: string): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", `The selection contradicts itself: ${message}.`, {
    issues: [{ pointer: "/forced", message }],
  });
}
