import { definitionOf, refusedByConnector } from "../core/entry.ts";
import { ToolkitError } from "../core/error.ts";
import { builtinNamespace, inlineNamespace } from "../core/identifier.ts";
import type { Entry, Toolbox } from "../core/item.ts";
import { ChoosingRules, type NameScope, RefusingRules } from "../core/name-rules.ts";
import type { OptionNames } from "../core/options.ts";
import type { StandingRule } from "../core/policy.ts";
import type { CallOptions } from "../core/session.ts";
import { isGlob } from "../lib/glob.ts";
import { nearest, orDidYouMean } from "../lib/similar.ts";
import type { ToolEntry } from "./toolset-types.ts";

/** The tools that one model run may use. A name that nothing has is `NOT_FOUND`; a glob may fit nothing. */
export interface Selection {
  /**
   * Refs, globs on refs, such as `weather.*`, or bare names, each of which means what `lookup` finds. Default: every tool. Prompts are taken
   * only where they are named here.
   */
  readonly include?: readonly string[] | undefined;
  /** Names or refs, in every namespace, or globs on these: what fits is not there. */
  readonly exclude?: readonly string[] | undefined;
  /**
   * As `include`, of what is to be called in the first turn: one is the tool choice, of several only these are offered and one is required.
   * An exclusive tool among them is offered alone.
   */
  readonly forced?: readonly string[] | undefined;
}

export const selectionNames: OptionNames<Selection> = { include: true, exclude: true, forced: true };

/** A toolbox in which names are looked up, and for whom. */
export interface NameLookup extends Pick<CallOptions, "session" | "signal"> {
  readonly toolbox: Toolbox;
}

/** The meanings of names, looked up once: a toolset stays as it was when it was made. */
export class LookedUpNames implements NameScope {
  readonly #meanings = new Map<string, Entry | "undecided">();

  meaning(name: string): Entry | "undecided" | undefined {
    return this.#meanings.get(name);
  }

  /** The names in a list that may mean nothing, looked up. */
  static async of(texts: readonly string[], lookup: NameLookup): Promise<LookedUpNames> {
    const names = new LookedUpNames();
    await names.allow(texts, lookup);
    return names;
  }

  /** Looks up the names in a list. @throws as `namedTool` */
  async require(list: string, texts: readonly string[] = [], lookup: NameLookup): Promise<void> {
    const found = namesIn(texts).map(async (name) => [name, await namedTool(list, name, lookup)] as const);
    for (const [name, entry] of await Promise.all(found)) this.#meanings.set(name, entry);
  }

  /** Looks up names that may mean nothing. */
  async allow(texts: readonly string[] = [], { toolbox, ...options }: NameLookup): Promise<void> {
    const looked = namesIn(texts).map(async (name) => {
      const found = await toolbox.lookup(name, options).catch((error: unknown) => {
        options.signal?.throwIfAborted();
        return ToolkitError.is(error, "NOT_FOUND") ? undefined : "undecided";
      });
      if (found !== undefined) this.#meanings.set(name, found);
    });
    await Promise.all(looked);
  }
}

function namesIn(texts: readonly string[]): readonly string[] {
  return texts.filter((text) => !isGlob(text));
}

/**
 * The tool or prompt that a name in a list means.
 *
 * @throws ToolkitError `NOT_FOUND` and the like, naming the list; `INVALID_INPUT` for a resource, which can be read and not called
 */
export async function namedTool(list: string, name: string, { toolbox, ...options }: NameLookup): Promise<ToolEntry> {
  const entry = await toolbox.lookup(name, options).catch((error: unknown) => {
    throw ToolkitError.is(error, "NOT_FOUND") ? notNamed(list, name, error) : error;
  });
  if (entry.kind !== "resource") return entry;
  const message = `${list} names ${name}, which is a resource: it can be read, and not called`;
  throw new ToolkitError("INVALID_INPUT", `${message}.`, { issues: [{ pointer: `/${list}`, message }] });
}

/** An error of its own: the list is wrong, and no lookup of a caller. */
function notNamed(list: string, name: string, cause: ToolkitError<"NOT_FOUND">): ToolkitError<"NOT_FOUND"> {
  const message = `${list} names ${JSON.stringify(name)}: ${cause.message}`;
  return new ToolkitError("NOT_FOUND", message, cause.details, { cause });
}

/** The result of a selection. */
export interface Selected {
  /** The tools that are offered, in the order of lists. */
  readonly offered: readonly ToolEntry[];
  readonly forced: ReadonlySet<ToolEntry>;
}

/** A selection, its rules compiled and the names in them looked up. */
export class SelectionRules {
  readonly #include: ChoosingRules | undefined;
  readonly #exclude: RefusingRules;
  readonly #forced: readonly string[];
  readonly #scope: NameScope;

  constructor({ include, exclude = [], forced = [] }: Selection, scope: NameScope) {
    this.#include = include === undefined ? undefined : new ChoosingRules(include);
    this.#exclude = new RefusingRules(exclude);
    this.#forced = forced;
    this.#scope = scope;
  }

  /**
   * Chooses. An exclusive tool is there only when it is forced by its name, and then alone.
   *
   * @throws ToolkitError `NOT_FOUND` for a forced or excluded name that none of the entries has, `INVALID_INPUT` for one that is forced and
   *   excluded, or for two exclusive ones that are forced
   */
  select(entries: readonly ToolEntry[]): Selected {
    const [unknown] = this.#exclude.unused(entries);
    if (unknown !== undefined) throw noTool("exclude", unknown, entries);
    const forced = this.#forcedOf(entries);
    const both = [...forced].find((entry) => this.#exclude.ruleFor(entry) !== undefined);
    if (both !== undefined) throw contradiction(`${both.ref} is forced and excluded`);
    const alone = exclusiveOf("forced", forced);
    if (alone !== undefined) return { offered: [alone], forced: new Set([alone]) };
    return { offered: entries.filter((entry) => this.#hidingRule(entry, forced) === undefined), forced };
  }

  /** The rule that offers an entry or hides it; undefined where it is offered because nothing says otherwise. */
  ruleFor(entry: ToolEntry, forced: ReadonlySet<ToolEntry>): StandingRule | undefined {
    const hiding = this.#hidingRule(entry, forced);
    if (hiding !== undefined) return { ...hiding, verdict: "hides" };
    if (forced.has(entry)) return { at: "forced", rule: this.#forcing(entry), verdict: "offers" };
    const rule = this.#include?.ruleFor(entry, this.#scope);
    return rule === undefined ? undefined : { at: "include", rule, verdict: "offers" };
  }

  #hidingRule(entry: ToolEntry, forced: ReadonlySet<ToolEntry>): Omit<StandingRule, "verdict"> | undefined {
    if (forced.has(entry)) return undefined;
    const alone = [...forced].find(isExclusive);
    if (alone !== undefined)
      return { at: "forced", rule: `${alone.ref} is exclusive and forced, and so it is offered alone` };
    if (this.#include === undefined && entry.kind === "prompt")
      return { rule: "a prompt is offered only where include names it" };
    if (this.#include !== undefined && this.#include.ruleFor(entry, this.#scope) === undefined)
      return { at: "include", rule: `nothing of include fits it: ${this.#include.texts.join(", ")}` };
    const excluding = this.#exclude.ruleFor(entry);
    if (excluding !== undefined) return { at: "exclude", rule: excluding };
    return isExclusive(entry) ? { rule: "it is exclusive, and offered only where it is forced" } : undefined;
  }

  #forcedOf(entries: readonly ToolEntry[]): ReadonlySet<ToolEntry> {
    const named = namesIn(this.#forced).map((name) => {
      const meant = this.#scope.meaning(name);
      const found = entries.find((entry) => isMeant(meant, entry));
      if (found === undefined) throw noTool("forced", name, entries);
      return found;
    });
    // A glob forces no exclusive tool: it would hide all others.
    const globs = new ChoosingRules(this.#forced.filter(isGlob));
    const fitting = entries.filter((entry) => !isExclusive(entry) && globs.ruleFor(entry, this.#scope) !== undefined);
    return new Set([...named, ...fitting]);
  }

  #forcing(entry: ToolEntry): string {
    const name = namesIn(this.#forced).find((each) => isMeant(this.#scope.meaning(each), entry));
    return name ?? new ChoosingRules(this.#forced.filter(isGlob)).ruleFor(entry, this.#scope) ?? entry.ref;
  }
}

function isMeant(meant: Entry | "undecided" | undefined, { kind, ref }: ToolEntry): boolean {
  return typeof meant === "object" && meant.kind === kind && meant.ref === ref;
}

/**
 * The exclusive tool among those that a list names: it is offered alone.
 *
 * @throws ToolkitError `INVALID_INPUT` for two of them
 */
export function exclusiveOf(list: string, entries: Iterable<ToolEntry>): ToolEntry | undefined {
  const [alone, other] = new Set([...entries].filter(isExclusive));
  if (alone === undefined || other === undefined) return alone;
  const message = `${list} names ${alone.ref} and ${other.ref}, each of which is exclusive and must be offered alone`;
  throw contradiction(message, list);
}

/** True for a tool that is offered only where it is chosen by its name. */
export function isExclusive(entry: ToolEntry): boolean {
  return definitionOf(entry).options?.exclusive === true;
}

function noTool(list: string, key: string, entries: readonly ToolEntry[]): ToolkitError<"NOT_FOUND"> {
  const refs = entries.map(({ ref }) => ref);
  const suggestions = nearest(key, refs);
  const message = `${list} names ${JSON.stringify(key)}: there is no such tool or prompt.${orDidYouMean(suggestions)}`;
  return new ToolkitError("NOT_FOUND", message, { key, suggestions });
}

/**
 * The tool or prompt that a ref, or a bare name, means among entries: as in lookups, one of the service goes before those of servers.
 *
 * @throws ToolkitError `INVALID_INPUT` for a name that tools of several servers have
 */
export function onlyNamed(name: string, entries: readonly ToolEntry[]): ToolEntry | undefined {
  const named = entries.filter((entry) => entry.ref === name || entry.name === name);
  const own = named.find(({ namespace }) => namespace === builtinNamespace || namespace === inlineNamespace);
  const found = named.find(({ ref }) => ref === name) ?? own;
  if (found !== undefined || named.length < 2) return found ?? named[0];
  const refs = named.map(({ ref }) => ref).join(", ");
  throw contradiction(`forced names ${name}, and there are ${refs}: give the ref of one`);
}

/** @param list - the list at fault */
export function contradiction(message: string, list = "forced"): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", `The selection contradicts itself: ${message}.`, {
    issues: [{ pointer: `/${list}`, message }],
  });
}

/** @throws ToolkitError `DENIED` or `QUARANTINED` for one that its connector refuses */
export function assertUsable(forced: Iterable<ToolEntry>): void {
  for (const entry of forced) {
    const refusal = refusedByConnector(entry);
    if (refusal !== undefined) throw refusal.error(entry.ref);
  }
}
