import type { Connection } from "../core/connection.ts";
import type { Definition } from "../core/definition.ts";
import { definitionOf, makeEntry } from "../core/entry.ts";
import { type Entry, type Item, type ItemMap, type Kind, kinds, type ListFailure } from "../core/item.ts";
import type { Source } from "../core/source.ts";
import { matchTemplate, type TemplateMatcher } from "./template.ts";

/** An item with what it says of itself. */
export interface Registration {
  readonly definition: Definition;
  readonly item: Item;
}

/** What a namespace is to become: items to have, items to be rid of. */
export interface NamespaceChange {
  readonly put?: readonly Registration[] | undefined;
  readonly remove?: readonly { readonly kind: Kind; readonly key: string }[] | undefined;
}

/** What became of it: refs by kind. */
export type Difference = { readonly [K in Kind]?: { added: string[]; removed: string[]; changed: string[] } };

/** What a namespace is made with. */
export interface NamespaceOptions {
  readonly connection?: Connection | undefined;
  /** Whose it is, where not everybody has it. */
  readonly principal?: string | undefined;
  /**
   * Undefined once what it holds is what it has; else resolves when that is so, or when it is known not to come. `start` where it must
   * be asked to begin.
   */
  readonly settling?: ((start: boolean) => Promise<void> | undefined) | undefined;
  /** What is missing or old, and why, at the time of asking. */
  readonly failures?: (() => readonly ListFailure[]) | undefined;
  /** Has it tell when the content of a resource changes. Missing, it tells unasked. */
  readonly subscribe?: Source["subscribe"] | undefined;
}

/** The items of one namespace, by kind and key. */
export class Namespace {
  readonly connection: Connection | undefined;
  readonly principal: string | undefined;
  readonly settling: (start: boolean) => Promise<void> | undefined;
  readonly subscribe: Source["subscribe"] | undefined;
  #name: string;
  #stale = false;
  readonly #failures: () => readonly ListFailure[];
  readonly #onChange: (touched: readonly Kind[]) => void;
  readonly #items: { readonly [K in Kind]: Map<string, Entry<K>> } = {
    tool: new Map(),
    prompt: new Map(),
    resource: new Map(),
    template: new Map(),
  };
  readonly #sorted = new Map<Kind, readonly Entry[]>();
  /** Of an entry, the one that is as old as it is not: what was compiled for either is found again by it. */
  readonly #twins = new WeakMap<Entry, Entry>();
  #matchers: readonly (readonly [TemplateMatcher, Entry<"template">])[] | undefined;

  constructor(name: string, options: NamespaceOptions, onChange: (touched: readonly Kind[]) => void) {
    this.#name = name;
    this.connection = options.connection;
    this.principal = options.principal;
    this.settling = options.settling ?? (() => undefined);
    this.subscribe = options.subscribe;
    this.#failures = options.failures ?? (() => []);
    this.#onChange = onChange;
  }

  get name(): string {
    return this.#name;
  }

  /** What is missing or old here, and why. */
  get failures(): readonly ListFailure[] {
    return this.#failures();
  }

  get<K extends Kind>(kind: K, key: string): Entry<K> | undefined {
    return this.#items[kind].get(key);
  }

  count(kind: Kind): number {
    return this.#items[kind].size;
  }

  /** The entries of a kind, by ref in code-unit order. A shared, frozen array. */
  entries<K extends Kind>(kind: K): readonly Entry<K>[] {
    let sorted = this.#sorted.get(kind);
    if (sorted === undefined) {
      const entries: Entry[] = [...(this.#items[kind] as ReadonlyMap<string, Entry>).values()];
      sorted = Object.freeze(entries.sort(byRef));
      this.#sorted.set(kind, sorted);
    }
    return sorted as readonly Entry<K>[];
  }

  /** The template whose family has the URI. */
  template(uri: string): Entry<"template"> | undefined {
    this.#matchers ??= this.entries("template").map((entry) => [matchTemplate(definitionOf(entry).key), entry]);
    return this.#matchers.find(([matches]) => matches(uri))?.[1];
  }

  /** Puts and removes items. One with the fingerprint of the one before is no difference. */
  change({ put = [], remove = [] }: NamespaceChange): Difference {
    const difference: Difference = {};
    const touched = new Set<Kind>();
    const note = (kind: Kind, what: "added" | "removed" | "changed", ref: string) => {
      touched.add(kind);
      const lists = difference as Record<string, Record<typeof what, string[]>>;
      lists[kind] ??= { added: [], removed: [], changed: [] };
      lists[kind][what].push(ref);
    };
    for (const { kind, key } of remove) {
      const entry = this.#items[kind].get(key);
      if (entry === undefined) continue;
      this.#items[kind].delete(key);
      note(kind, "removed", entry.ref);
    }
    for (const { definition, item } of put) {
      const { kind, key } = definition;
      const before = this.#items[kind].get(key);
      const same = before !== undefined && definitionOf(before).fingerprint === definition.fingerprint;
      // A remote item is bound to no connection, so the one there is as good. A local one may do something else than before.
      if (same && (definition.origin === "remote" || before.item === item)) continue;
      const entry = makeEntry(definition, item as ItemMap[typeof kind], this.#name, this.#stale);
      (this.#items[kind] as Map<string, Entry>).set(key, entry);
      if (same) touched.add(kind);
      else note(kind, before === undefined ? "added" : "changed", entry.ref);
    }
    this.#touched([...touched]);
    return difference;
  }

  /** Makes what it has of a kind exactly this. */
  replace(kind: Kind, registrations: readonly Registration[]): Difference {
    const keys = new Set(registrations.map(({ definition }) => definition.key));
    const remove = [...this.#items[kind].keys()].filter((key) => !keys.has(key)).map((key) => ({ kind, key }));
    return this.change({ put: registrations, remove });
  }

  /** Marks all it has as old, or as current again. */
  setStale(stale: boolean): void {
    if (stale === this.#stale) return;
    this.#stale = stale;
    this.#renew((entry) => this.#twin(entry));
  }

  /** Gives it another name: every entry is made anew, with another ref. */
  rename(name: string): void {
    this.#name = name;
    this.#renew((entry) => this.#made(entry));
  }

  #renew(renewed: (entry: Entry) => Entry): void {
    for (const kind of kinds) {
      const items = this.#items[kind] as Map<string, Entry>;
      for (const [key, entry] of items) items.set(key, renewed(entry));
    }
    this.#touched(kinds);
  }

  #twin(entry: Entry): Entry {
    const known = this.#twins.get(entry);
    if (known !== undefined) return known;
    const twin = this.#made(entry);
    this.#twins.set(entry, twin).set(twin, entry);
    return twin;
  }

  /** An entry of the same item, as things are now. */
  #made(entry: Entry): Entry {
    return makeEntry(definitionOf(entry), entry.item as ItemMap[Kind], this.#name, this.#stale) as Entry;
  }

  #touched(touched: readonly Kind[]): void {
    if (touched.length === 0) return;
    for (const kind of touched) this.#sorted.delete(kind);
    if (touched.includes("template")) this.#matchers = undefined;
    this.#onChange(touched);
  }
}

/** The entries of several namespaces as one sorted list. */
export function mergedEntries(namespaces: readonly Namespace[], kind: Kind): Entry[] {
  return namespaces
    .filter((namespace) => namespace.count(kind) > 0)
    .flatMap((namespace) => namespace.entries(kind) as readonly Entry[])
    .sort(byRef);
}

function byRef(a: Entry, b: Entry): number {
  return a.ref < b.ref ? -1 : a.ref > b.ref ? 1 : 0;
}
