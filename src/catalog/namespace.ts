import type { Connection } from "../core/connection.ts";
import type { ConnectorRefusal, Definition } from "../core/definition.ts";
import { definitionOf, makeEntry } from "../core/entry.ts";
import type { ListEventType } from "../core/event.ts";
import { type Entry, type Item, type ItemMap, type Kind, kinds, type ListFailure } from "../core/item.ts";
import type { Named } from "../core/rule-names.ts";
import type { Source } from "../core/source.ts";
import { normalUri, uriKey } from "../lib/uri.ts";
import { type ListChange, ListChanges, ListIndexes } from "./list-index.ts";
import { matchTemplate, type TemplateMatcher } from "./uri-template.ts";
import { everything } from "./visibility.ts";

/** An item with what it says of itself. */
export interface Registration {
  readonly definition: Definition;
  readonly item: Item;
}

/** A change of a namespace: items to put and to remove. */
export interface NamespaceChange {
  readonly put?: readonly Registration[] | undefined;
  readonly remove?: readonly { readonly kind: Kind; readonly key: string }[] | undefined;
}

/** The entries that a change added, removed and changed, by kind. */
export type Difference = { readonly [K in Kind]?: { added: Entry[]; removed: Entry[]; changed: Entry[] } };

/** Options of a namespace. */
export interface NamespaceOptions {
  readonly connection?: Connection | undefined;
  /** The principal it belongs to; undefined where all have it. */
  readonly principal?: string | undefined;
  /**
   * Undefined once what it holds is what it has; else resolves when that is so, or when it is known not to come. `start` where it must
   * be asked to begin.
   */
  readonly settling?: ((start: boolean) => Promise<void> | undefined) | undefined;
  /** Undefined once its first attempt has ended; else resolves when it has, however long that takes. Default: as `settling`. */
  readonly coming?: (() => Promise<void> | undefined) | undefined;
  /** Its failures at the time of asking: what is missing or old, and why. */
  readonly failures?: (() => readonly ListFailure[]) | undefined;
  /** Makes it report when the content of a resource changes. Missing, it does so unasked. */
  readonly subscribe?: Source["subscribe"] | undefined;
  /** The reason why a resource that one of its templates made is refused. Default: that of the template alone. */
  readonly refusalOf?: ((uri: string, template: Entry<"template">) => ConnectorRefusal | undefined) | undefined;
}

/** The items of one namespace, by kind and key. */
export class Namespace {
  readonly connection: Connection | undefined;
  readonly principal: string | undefined;
  readonly settling: (start: boolean) => Promise<void> | undefined;
  readonly coming: () => Promise<void> | undefined;
  readonly subscribe: Source["subscribe"] | undefined;
  readonly refusalOf: NonNullable<NamespaceOptions["refusalOf"]>;
  #name: string;
  #stale = false;
  readonly #failures: () => readonly ListFailure[];
  readonly #onChange: (changes: readonly ListChange[]) => void;
  readonly #items: { readonly [K in Kind]: Map<string, Entry<K>> } = {
    tool: new Map(),
    prompt: new Map(),
    resource: new Map(),
    template: new Map(),
  };
  /** Its items in order, by visibility. */
  readonly lists = new ListIndexes(() => [this]);
  /** The keys of resources and templates by their names, which several may have. */
  readonly #keysByName: { resource?: KeysByName; template?: KeysByName } = {};
  /** Of an entry its other version, stale or current: what was compiled for either is found again by it. */
  readonly #twins = new WeakMap<Entry, Entry>();
  #matchers: readonly (readonly [TemplateMatcher, Entry<"template">])[] | undefined;
  #byUriKey: ReadonlyMap<string, Entry<"resource">> | undefined;

  constructor(name: string, options: NamespaceOptions, onChange: (changes: readonly ListChange[]) => void) {
    this.#name = name;
    this.connection = options.connection;
    this.principal = options.principal;
    this.settling = options.settling ?? (() => undefined);
    this.coming = options.coming ?? (() => this.settling(false));
    this.subscribe = options.subscribe;
    this.refusalOf = options.refusalOf ?? (() => undefined);
    this.#failures = options.failures ?? (() => []);
    this.#onChange = onChange;
  }

  get name(): string {
    return this.#name;
  }

  /** Its failures now: what is missing or old, and why. */
  get failures(): readonly ListFailure[] {
    return this.#failures();
  }

  get<K extends Kind>(kind: K, key: string): Entry<K> | undefined {
    return this.#items[kind].get(key);
  }

  count(kind: Kind): number {
    return this.#items[kind].size;
  }

  /** Its entries of a kind, in no order. */
  items(kind: Kind): Iterable<Entry> {
    return (this.#items[kind] as ReadonlyMap<string, Entry>).values();
  }

  /** The entries of a kind, by ref in code-unit order. A shared, frozen array. */
  entries<K extends Kind>(kind: K): readonly Entry<K>[] {
    return this.lists.of(everything).whole([kind]) as readonly Entry<K>[];
  }

  /** The entries of a kind that have a name, or a key. */
  named(kind: Kind, name: string): readonly Entry[] {
    const byKey: Entry | undefined = this.get(kind, name);
    if ((kind !== "resource" && kind !== "template") || this.count(kind) === 0)
      return byKey === undefined ? [] : [byKey];
    this.#keysByName[kind] ??= new KeysByName(this.items(kind));
    const keys = this.#keysByName[kind].of(name);
    return [...keys].map((key): Entry | undefined => this.get(kind, key)).filter((entry) => entry !== undefined);
  }

  /** The resource of a URI, however it is written: that of the very text, else the first by ref that has the same URI. */
  resource(uri: string): Entry<"resource"> | undefined {
    const exact = this.get("resource", uri);
    if (exact !== undefined || this.count("resource") === 0) return exact;
    // Of several the first remains.
    const inReverse = () => this.entries("resource").toReversed();
    this.#byUriKey ??= new Map(inReverse().map((entry) => [uriKey(definitionOf(entry).key), entry]));
    return this.#byUriKey.get(uriKey(uri));
  }

  /** The template whose family has the URI, and the URI as it is asked for: in its normal form, unless that is not of the family. */
  template(uri: string): { readonly template: Entry<"template">; readonly uri: string } | undefined {
    if (this.count("template") === 0) return undefined;
    this.#matchers ??= this.entries("template").map((entry) => [matchTemplate(definitionOf(entry).key), entry]);
    for (const asked of new Set([normalUri(uri), uri])) {
      const template = this.#matchers.find(([matches]) => matches(asked))?.[1];
      if (template !== undefined) return { template, uri: asked };
    }
    return undefined;
  }

  /** Puts and removes items. One with the fingerprint of the one before is no difference. */
  change({ put = [], remove = [] }: NamespaceChange): Difference {
    const difference: Difference = {};
    const changes = new ListChanges(this.#name);
    const note = (kind: Kind, what: "added" | "removed" | "changed", entry: Entry) => {
      const lists = difference as Record<string, Record<typeof what, Entry[]>>;
      lists[kind] ??= { added: [], removed: [], changed: [] };
      lists[kind][what].push(entry);
    };
    for (const { kind, key } of remove) {
      const entry: Entry | undefined = this.#items[kind].get(key);
      if (entry === undefined) continue;
      this.#items[kind].delete(key);
      changes.note(kind, entry, undefined);
      note(kind, "removed", entry);
    }
    for (const { definition, item } of put) {
      const { kind, key } = definition;
      const before: Entry | undefined = this.#items[kind].get(key);
      const same = before !== undefined && isSame(definitionOf(before), definition);
      // A remote item is bound to no connection, so the one there is as good. A local one may do something else than before.
      if (same && (definition.origin === "remote" || before.item === item)) continue;
      const entry = makeEntry(definition, item as ItemMap[typeof kind], this.#name, this.#stale) as Entry;
      (this.#items[kind] as Map<string, Entry>).set(key, entry);
      changes.note(kind, before, entry);
      if (!same) note(kind, before === undefined ? "added" : "changed", entry);
    }
    this.#changed(changes.all);
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
    this.#changed(this.#renewed((entry) => this.#twin(entry)));
  }

  /** Gives it another name: every entry is made anew, with another ref. Lists of several namespaces are to be reset. */
  rename(name: string): void {
    this.#name = name;
    const changes = this.#renewed((entry) => this.#made(entry));
    this.lists.reset();
    this.#changed(changes);
  }

  #renewed(renewed: (entry: Entry) => Entry): readonly ListChange[] {
    const changes = new ListChanges(this.#name);
    for (const kind of kinds) {
      const items = this.#items[kind] as Map<string, Entry>;
      for (const [key, before] of items) {
        const entry = renewed(before);
        items.set(key, entry);
        changes.note(kind, before, entry);
      }
    }
    return changes.all;
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

  #changed(changes: readonly ListChange[]): void {
    if (changes.length === 0) return;
    for (const change of changes) {
      const { kind } = change;
      this.lists.changed(change);
      if (kind === "template") this.#matchers = undefined;
      if (kind === "resource") this.#byUriKey = undefined;
      if (kind === "resource" || kind === "template") this.#keysByName[kind]?.change(change);
    }
    this.#onChange(changes);
  }
}

/** True for what is the same to those who use it: it says the same of itself, and is refused or not as before. */
function isSame(before: Definition, after: Definition): boolean {
  return before.fingerprint === after.fingerprint && before.refusal?.rule === after.refusal?.rule;
}

const announcements: readonly (readonly [ListEventType, readonly Kind[]])[] = [
  ["toolListChanged", ["tool"]],
  ["promptListChanged", ["prompt"]],
  ["resourceListChanged", ["resource", "template"]],
];

/** The entries of each event that differences make: one for each kind of list that has any. */
export function* changedLists(
  differences: readonly Difference[],
): Generator<readonly [ListEventType, { added: Entry[]; removed: Entry[]; changed: Entry[] }]> {
  for (const [type, kinds] of announcements) {
    const lists = differences.flatMap((difference) => kinds.flatMap((kind) => difference[kind] ?? []));
    if (lists.length === 0) continue;
    const added = lists.flatMap((list) => list.added);
    const removed = lists.flatMap((list) => list.removed);
    yield [type, { added, removed, changed: lists.flatMap((list) => list.changed) }];
  }
}

/** The keys of resources and templates by their names, which several may have. */
class KeysByName {
  readonly #keys = new Map<string, Set<string>>();

  constructor(entries: Iterable<Entry>) {
    this.change({ removed: [], put: entries });
  }

  /** The keys of a name, which may be a key itself. */
  of(name: string): ReadonlySet<string> {
    return new Set(this.#keys.get(name)).add(name);
  }

  change({ removed, put }: { readonly removed: Iterable<Named>; readonly put: Iterable<Named> }): void {
    for (const item of removed) {
      const keys = this.#keys.get(item.name);
      keys?.delete(keyOf(item));
      if (keys?.size === 0) this.#keys.delete(item.name);
    }
    for (const item of put) this.#keys.set(item.name, (this.#keys.get(item.name) ?? new Set()).add(keyOf(item)));
  }
}

/** The URI of a resource or template: its ref without its namespace. */
function keyOf({ ref, namespace }: Named): string {
  return ref.slice(0, -namespace.length - 1);
}
