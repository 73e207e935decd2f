import type { Connection } from "../core/connection.ts";
import type { ConnectorRefusal } from "../core/definition.ts";
import { definitionOf, isEntry, makeEntry } from "../core/entry.ts";
import { type Entry, type ItemMap, type Kind, kinds, type ListFailure } from "../core/item.ts";
import type { Named } from "../core/rule-names.ts";
import type { Source } from "../core/source.ts";
import { normalUri, uriKey } from "../lib/uri.ts";
import { DeferredItems, type HeadRequest, type Registration } from "./deferred-items.ts";
import { type IndexChange, IndexChanges, ListIndexes } from "./list-index.ts";
import { type Difference, isSame, KeysByName, keyOf, type NamespaceChange } from "./namespace-change.ts";
import { matchTemplate, type TemplateMatcher } from "./uri-template.ts";
import { everything } from "./visibility.ts";

/** The part of a namespace that a lookup needs. One that has many items need not have the others. */
export interface WantedItem {
  readonly kinds: readonly Kind[];
  /** A name or URI within the namespace, or a ref. Missing, it is all of these kinds. */
  readonly key?: string | undefined;
}

/** Options of a namespace. */
export interface NamespaceOptions {
  readonly connection?: Connection | undefined;
  /** The principal it belongs to; undefined where all have it. */
  readonly principal?: string | undefined;
  /**
   * Undefined once what it holds is what it has, of the item that is wanted or of all; else resolves when that is so, or when it is known
   * not to come. `start` where it must be asked to begin.
   */
  readonly settling?: ((start: boolean, wanted?: WantedItem) => Promise<void> | undefined) | undefined;
  /** Undefined once its first attempt has ended; else resolves when it has, however long that takes. Default: as `settling`. */
  readonly coming?: ((wanted?: WantedItem) => Promise<void> | undefined) | undefined;
  /** Answers a question for its first items; with false where it is to be asked for all. Missing, it always is. */
  readonly head?: ((request: HeadRequest) => Promise<boolean>) | undefined;
  /** Its failures at the time of asking: what is missing or old of these kinds, and why. */
  readonly failures?: ((of: readonly Kind[]) => readonly ListFailure[]) | undefined;
  /** False where it is not known what it has of one of these kinds: its server never listed them. Default: true. */
  readonly hasListed?: ((of: readonly Kind[]) => boolean) | undefined;
  /** True while it is not waited for and has no failure; `disturbed` or `setStale` is called when that ends. Default: where neither can be. */
  readonly isQuiet?: (() => boolean) | undefined;
  /** Makes it report when the content of a resource changes. Missing, it does so unasked. */
  readonly subscribe?: Source["subscribe"] | undefined;
  /** The reason why a resource that one of its templates made is refused. Default: that of the template alone. */
  readonly refusalOf?: ((uri: string, template: Entry<"template">) => ConnectorRefusal | undefined) | undefined;
}

/** The items of one namespace, by kind and key. */
export class Namespace {
  readonly connection: Connection | undefined;
  readonly principal: string | undefined;
  readonly settling: NonNullable<NamespaceOptions["settling"]>;
  readonly coming: NonNullable<NamespaceOptions["coming"]>;
  readonly head: NamespaceOptions["head"];
  readonly isQuiet: () => boolean;
  readonly subscribe: Source["subscribe"] | undefined;
  readonly refusalOf: NonNullable<NamespaceOptions["refusalOf"]>;
  readonly hasListed: NonNullable<NamespaceOptions["hasListed"]>;
  /** Its failures now: what is missing or old of some kinds, and why. */
  readonly failures: NonNullable<NamespaceOptions["failures"]>;
  #name: string;
  readonly #stale = new Set<Kind>();
  readonly #onChange: (changes: readonly IndexChange[]) => void;
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
  readonly #deferred = new DeferredItems();
  #matchers: readonly (readonly [TemplateMatcher, Entry<"template">])[] | undefined;
  #byUriKey: ReadonlyMap<string, string> | undefined;

  constructor(name: string, options: NamespaceOptions, onChange: (changes: readonly IndexChange[]) => void) {
    this.#name = name;
    this.connection = options.connection;
    this.principal = options.principal;
    this.settling = options.settling ?? (() => undefined);
    this.coming = options.coming ?? ((wanted) => this.settling(false, wanted));
    this.head = options.head;
    this.isQuiet = options.isQuiet ?? (() => options.settling === undefined && options.failures === undefined);
    this.subscribe = options.subscribe;
    this.refusalOf = options.refusalOf ?? (() => undefined);
    this.hasListed = options.hasListed ?? (() => true);
    this.failures = options.failures ?? (() => []);
    this.#onChange = onChange;
  }

  get name(): string {
    return this.#name;
  }

  /** Lists ask it again whether it is quiet. */
  disturbed(): void {
    this.#onChange([]);
  }

  get<K extends Kind>(kind: K, key: string): Entry<K> | undefined {
    const entry = this.#items[kind].get(key);
    if (entry === undefined && this.#deferred.has(kind, key)) return this.#madeNow(kind, key);
    return entry;
  }

  /** True for an item that it has, which is not made where it is deferred. */
  has(kind: Kind, key: string): boolean {
    return this.#items[kind].has(key) || this.#deferred.has(kind, key);
  }

  count(kind: Kind): number {
    return this.#items[kind].size + this.#deferred.count(kind);
  }

  /** Its items of a kind, in no order; of one that is deferred its names alone. */
  *items(kind: Kind): Iterable<Named> {
    yield* (this.#items[kind] as ReadonlyMap<string, Entry>).values();
    yield* this.#deferred.names(kind);
  }

  /** False while items are deferred: its lists then have names of items in place of entries. */
  get isComplete(): boolean {
    return kinds.every((kind) => this.#deferred.count(kind) === 0);
  }

  /** The entry of an item of its lists, which is made where it was deferred; undefined where that fails. */
  entryOf(item: Named): Entry | undefined {
    return isEntry(item) ? item : this.get(item.kind, keyOf(item));
  }

  /** The items of a kind, by ref in code-unit order; of one that is deferred its names alone. A shared, frozen array. */
  sorted(kind: Kind): readonly Named[] {
    return this.lists.of(everything).whole([kind]);
  }

  /** The entries of a kind, by ref in code-unit order. All that are deferred are made. */
  entries<K extends Kind>(kind: K): readonly Entry<K>[] {
    const items = this.sorted(kind);
    if (this.#deferred.count(kind) === 0) return items as readonly Entry<K>[];
    return items.map((item) => this.entryOf(item)).filter((entry) => entry !== undefined) as Entry[] as Entry<K>[];
  }

  /** The entries of a kind that have a name, or a key. */
  named(kind: Kind, name: string): readonly Entry[] {
    const byKey: Entry | undefined = this.get(kind, name);
    if (kind !== "resource" && kind !== "template") return byKey === undefined ? [] : [byKey];
    this.#keysByName[kind] ??= new KeysByName(this.items(kind));
    const keys = this.#keysByName[kind].of(name);
    return [...keys].map((key): Entry | undefined => this.get(kind, key)).filter((entry) => entry !== undefined);
  }

  /** The resource of a URI, however it is written: that of the very text, else the first by ref that has the same URI. */
  resource(uri: string): Entry<"resource"> | undefined {
    const exact = this.get("resource", uri);
    if (exact !== undefined || this.count("resource") === 0) return exact;
    // Of several the first remains.
    const inReverse = () => this.sorted("resource").toReversed();
    this.#byUriKey ??= new Map(inReverse().map((item) => [uriKey(keyOf(item)), keyOf(item)]));
    const key = this.#byUriKey.get(uriKey(uri));
    return key === undefined ? undefined : this.get("resource", key);
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
  change({ put = [], defer = [], remove = [] }: NamespaceChange): Difference {
    const changes = new IndexChanges(this.#name);
    const note = (what: "added" | "removed" | "changed", item: Named) => {
      const lists = difference as Record<string, Record<typeof what, Named[]>>;
      lists[item.kind] ??= { added: [], removed: [], changed: [] };
      lists[item.kind]?.[what].push(item);
    };
    const difference: Difference = {};
    for (const { kind, key } of remove) {
      const before = this.#taken(kind, key);
      if (before === undefined) continue;
      changes.note(kind, before, undefined);
      note("removed", before);
    }
    for (const { definition, item } of put) {
      const { kind, key } = definition;
      const before: Entry | undefined = this.#items[kind].get(key);
      const same = before !== undefined && isSame(definitionOf(before), definition);
      // A remote item is bound to no connection, so the one there is as good. A local one may do something else than before.
      if (same && (definition.origin === "remote" || before.item === item)) continue;
      const replaced = this.#taken(kind, key);
      const entry = this.#put({ definition, item });
      changes.note(kind, replaced, entry);
      if (!same) note(replaced === undefined ? "added" : "changed", entry);
    }
    for (const item of defer) {
      const before = this.#taken(item.kind, item.key);
      const named = this.#deferred.put(item, this.#name);
      changes.note(item.kind, before, named);
      note(before === undefined ? "added" : "changed", named);
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

  /** Marks all it has of some kinds as old, or as current again. Whether it is quiet is another question then. */
  setStale(stale: boolean, of: Iterable<Kind> = kinds): void {
    this.disturbed();
    const changed = [...of].filter((kind) => this.#stale.has(kind) !== stale);
    if (changed.length === 0) return;
    for (const kind of changed) this.#stale[stale ? "add" : "delete"](kind);
    this.#changed(this.#renewed((entry) => this.#twin(entry), changed));
  }

  /** Gives it another name: every entry is made anew, with another ref. Lists of several namespaces are to be reset. */
  rename(name: string): void {
    this.#name = name;
    const changes = this.#renewed((entry) => this.#made(entry));
    this.lists.reset();
    this.#changed(changes);
  }

  #renewed(renewed: (entry: Entry) => Entry, of: readonly Kind[] = kinds): readonly IndexChange[] {
    const changes = new IndexChanges(this.#name);
    for (const kind of of) {
      const items = this.#items[kind] as Map<string, Entry>;
      for (const [key, before] of items) {
        const entry = renewed(before);
        items.set(key, entry);
        changes.note(kind, before, entry);
      }
    }
    return changes.all;
  }

  #put({ definition, item }: Registration): Entry {
    const { kind, key } = definition;
    const entry = makeEntry(definition, item as ItemMap[typeof kind], this.#name, this.#stale.has(kind)) as Entry;
    (this.#items[kind] as Map<string, Entry>).set(key, entry);
    return entry;
  }

  /** Removes an item, and gives it: its names alone where it was deferred. */
  #taken(kind: Kind, key: string): Named | undefined {
    const entry: Entry | undefined = this.#items[kind].get(key);
    this.#items[kind].delete(key);
    return entry ?? this.#deferred.take(kind, key)?.named;
  }

  #madeNow<K extends Kind>(kind: K, key: string): Entry<K> | undefined {
    const deferred = this.#deferred.take(kind, key);
    if (deferred === undefined) return undefined;
    const registration = deferred.item.make();
    const entry = registration && this.#put(registration);
    const changes = new IndexChanges(this.#name);
    changes.note(kind, deferred.named, entry);
    this.#changed(changes.all);
    return entry as Entry<K> | undefined;
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
    const stale = this.#stale.has(entry.kind);
    return makeEntry(definitionOf(entry), entry.item as ItemMap[Kind], this.#name, stale) as Entry;
  }

  #changed(changes: readonly IndexChange[]): void {
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
