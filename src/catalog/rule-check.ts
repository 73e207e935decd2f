import { inlineNamespace, userNamespace } from "../core/identifier.ts";
import { kinds as allKinds, type Kind } from "../core/item.ts";
import { ChoosingRules, RefusingRules } from "../core/name-rules.ts";
import type { Logger } from "../core/session.ts";
import { isGlob } from "../lib/glob.ts";
import { nearest, orDidYouMean } from "../lib/similar.ts";
import type { Catalog } from "./catalog.ts";
import type { Namespace } from "./namespace.ts";
import { parseKey } from "./parsed-key.ts";

/** Rules, where they stand, and the kinds of items they are for. */
export interface CheckedRules {
  /** For messages: `policy.block`. */
  readonly at: string;
  readonly rules: RefusingRules | ChoosingRules;
  /** Default: all. */
  readonly kinds?: readonly Kind[] | undefined;
}

/** Views are made for each session: beyond so many names none is checked. */
const maxNames = 10_000;

/** Near matches are looked for so often: each is compared with all that there is. */
const maxHints = 50;

/** Names of one list that are still to be checked. */
interface UncheckedNames extends CheckedRules {
  readonly names: readonly string[];
}

/**
 * Warns of names in rules that nothing has, each once: a rule with a slip in it does nothing. Names in a namespace that has not settled are
 * checked when it has.
 */
export class RuleCheck {
  readonly #catalog: Catalog;
  readonly #logger: Logger;
  /** By the place they stand in: the names that are checked, or will be. */
  readonly #known = new Set<string>();
  #waiting: UncheckedNames[] = [];
  #hints = 0;
  #isStarted = false;
  #isStopped = false;

  constructor(catalog: Catalog, logger: Logger) {
    this.#catalog = catalog;
    this.#logger = logger;
  }

  /** Checks rules: now, or once everything has been started. */
  add(...added: readonly CheckedRules[]): void {
    for (const rules of added) {
      const names = rules.rules.texts.filter((text) => !isGlob(text) && this.#isNew(`${rules.at} ${text}`));
      if (names.length === 0) continue;
      if (this.#isStarted) this.#check({ ...rules, names });
      else this.#waiting.push({ ...rules, names });
    }
  }

  /** Checks from now on: namespaces have settled, as far as they do. */
  start(): void {
    this.#isStarted = true;
    for (const unchecked of this.#waiting.splice(0)) this.#check(unchecked);
  }

  /** True for a text that chooses what `lookup` finds: no glob, and without a namespace there is. */
  isBare(text: string): boolean {
    return !isGlob(text) && this.#scopeOf(text) === undefined;
  }

  /** Checks no more: what is closed has nothing. */
  stop(): void {
    this.#isStopped = true;
  }

  #isNew(id: string): boolean {
    if (this.#known.has(id) || this.#known.size >= maxNames) return false;
    this.#known.add(id);
    return true;
  }

  #check(unchecked: UncheckedNames): void {
    if (this.#isStopped) return;
    const { at, rules, names, kinds = allKinds } = unchecked;
    const unused = new Set(rules.unused(this.#catalog.entries(kinds), this.#catalog));
    const unsettled = new Map<Promise<void>, string[]>();
    for (const name of names) {
      const scope = this.#scopeOf(name);
      // Items of users, and those that are handed over, are in no list that all have.
      if (!unused.has(name) || scope === userNamespace || scope === inlineNamespace) continue;
      // No list has what a template makes.
      if (typeof this.#catalog.meaning(name) === "object") continue;
      const settling = scope === undefined ? undefined : this.#catalog.namespace(scope)?.settling(false);
      if (settling !== undefined) unsettled.set(settling, [...(unsettled.get(settling) ?? []), name]);
      else this.#logger.warn(`${at} names ${JSON.stringify(name)}, ${this.#problem(name, scope, unchecked)}`);
    }
    for (const [settling, later] of unsettled) void settling.then(() => this.#check({ ...unchecked, names: later }));
  }

  #scopeOf(text: string): string | undefined {
    const isKnown = (name: string) =>
      name === userNamespace || name === inlineNamespace || this.#catalog.namespace(name) !== undefined;
    const { scopedName, scopedUri } = parseKey(text, isKnown);
    return scopedName?.namespace ?? scopedUri?.namespace;
  }

  #problem(text: string, scope: string | undefined, { rules, kinds = allKinds }: UncheckedNames): string {
    const missing = this.#missing(scope);
    const entries = this.#catalog.entries(kinds);
    const isChoosing = rules instanceof ChoosingRules;
    if (
      isChoosing &&
      this.#catalog.meaning(text) === "undecided" &&
      new RefusingRules([text]).unused(entries).length === 0
    )
      return `and it is not known yet which item that is: it chooses none. Write a ref.${missing}`;
    this.#hints += 1;
    const refs = this.#hints > maxHints ? [] : entries.map(({ ref }) => ref);
    const suggestions = nearest(text, refs);
    return `and ${isChoosing ? "that finds nothing" : "no item has that name"} now: it does nothing.${orDidYouMean(suggestions)}${missing}`;
  }

  /** The namespaces that could have had a name, if they were connected. */
  #missing(scope: string | undefined): string {
    const namespaces = this.#catalog.namespaces().filter(({ name }) => scope === undefined || name === scope);
    const reasons = namespaces.flatMap(reasonOf);
    return reasons.length === 0 ? "" : ` Not connected: ${reasons.join(", ")}.`;
  }
}

function reasonOf({ name, connection, settling }: Namespace): readonly string[] {
  if (connection === undefined || connection.state === "connected") return [];
  const reason =
    connection.lastError?.message ?? (settling(false) === undefined ? connection.state : "not asked for yet");
  return [`${name} (${reason})`];
}
