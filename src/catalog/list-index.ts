import type { Kind } from "../core/item.ts";
import type { Named } from "../core/rule-names.ts";
import { byRef, SortedList } from "../lib/sorted-list.ts";
import type { Visibility } from "./visibility.ts";

/** Items of some namespaces that can be listed. */
export interface ListedNamespace {
  readonly name: string;
  count(kind: Kind): number;
  /** Its items of a kind, in no order. */
  items(kind: Kind): Iterable<Named>;
}

/** A change of what a namespace lists of a kind. */
export interface IndexChange {
  readonly namespace: string;
  readonly kind: Kind;
  /** The items that are gone, or replaced. */
  readonly removed: readonly Named[];
  /** The items that are new, or replace another. */
  readonly put: readonly Named[];
}

/** Collects the changes of a namespace, one for each kind. */
export class IndexChanges {
  readonly #namespace: string;
  readonly #byKind = new Map<Kind, { readonly removed: Named[]; readonly put: Named[] }>();

  constructor(namespace: string) {
    this.#namespace = namespace;
  }

  note(kind: Kind, before: Named | undefined, after: Named | undefined): void {
    const lists = this.#byKind.get(kind) ?? { removed: [], put: [] };
    this.#byKind.set(kind, lists);
    if (before !== undefined) lists.removed.push(before);
    if (after !== undefined) lists.put.push(after);
  }

  get all(): readonly IndexChange[] {
    return [...this.#byKind].map(([kind, lists]) => ({ namespace: this.#namespace, kind, ...lists }));
  }
}

/** A list is made anew, in place of being changed, where so many of its items change at once. */
const worthRebuilding = 4;

/** The sorted lists of what one visibility shows of some namespaces: each is made when it is first asked for, and changed with its items. */
class ListIndex {
  readonly #namespaces: () => Iterable<ListedNamespace>;
  readonly #visibility: Visibility;
  readonly #lists = new Map<Kind, SortedList<Named>>();
  /** Items that depend on what a lookup finds, and whether they were visible when they were last looked at. */
  readonly #open = new Map<Named, boolean>();
  readonly #whole = new Map<string, readonly Named[]>();
  /** Number of the change up to which the lists are current. */
  seen: number;

  constructor(namespaces: () => Iterable<ListedNamespace>, visibility: Visibility, seen: number) {
    this.#namespaces = namespaces;
    this.#visibility = visibility;
    this.seen = seen;
  }

  list(kind: Kind): SortedList<Named> {
    const list = this.#lists.get(kind) ?? this.#made(kind);
    this.#lists.set(kind, list);
    return list;
  }

  /** The items of some kinds, kind after kind. The same frozen array until one changes. */
  whole(kinds: readonly Kind[]): readonly Named[] {
    const key = kinds.join();
    const known = this.#whole.get(key);
    if (known !== undefined) return known;
    const whole = Object.freeze(
      kinds.flatMap((kind) => {
        const list = this.list(kind);
        return list.slice(0, list.size);
      }),
    );
    this.#whole.set(key, whole);
    return whole;
  }

  /** Applies changes, and looks again at the items that depend on what a lookup finds. */
  update(changes: Iterable<IndexChange>): void {
    for (const change of changes) this.#apply(change);
    for (const [item, wasVisible] of this.#open) {
      const isVisible = this.#visibility.entry(item);
      if (isVisible === wasVisible) continue;
      this.#open.set(item, isVisible);
      const { kind, namespace } = item;
      const put = isVisible ? [item] : [];
      this.#change({ kind, namespace, removed: isVisible ? [] : [item], put });
    }
  }

  /** Number of items in its lists. */
  get size(): number {
    let size = 0;
    for (const list of this.#lists.values()) size += list.size;
    return size;
  }

  clear(): void {
    this.#lists.clear();
    this.#open.clear();
    this.#whole.clear();
  }

  #apply(change: IndexChange): void {
    if (this.#visibility.hides(change.namespace)) return;
    for (const item of change.removed) this.#open.delete(item);
    this.#change({ ...change, put: change.put.filter((item) => this.#shows(item)) });
  }

  #change({ kind, removed, put }: IndexChange): void {
    if (removed.length + put.length === 0) return;
    this.#whole.clear();
    const list = this.#lists.get(kind);
    if (list === undefined) return;
    if (worthRebuilding * (removed.length + put.length) > list.size + 100) this.#lists.delete(kind);
    else {
      for (const { ref } of removed) list.delete(ref);
      for (const item of put) list.put(item);
    }
  }

  #made(kind: Kind): SortedList<Named> {
    const found: Named[] = [];
    for (const namespace of this.#namespaces()) {
      if (namespace.count(kind) === 0 || this.#visibility.hides(namespace.name)) continue;
      for (const item of namespace.items(kind)) if (this.#shows(item)) found.push(item);
    }
    return new SortedList(found.sort(byRef));
  }

  #shows(item: Named): boolean {
    const isVisible = this.#visibility.entry(item);
    if (this.#visibility.isOpen(item)) this.#open.set(item, isVisible);
    return isVisible;
  }
}

/** The most visibilities whose lists are kept, and the most items in the lists of all but the latest. */
const kept = { indexes: 1_000, items: 1_000_000 } as const;

/** The most changed items that are remembered for lists that were not asked for since. */
const maxLogged = 10_000;

/** The lists of some namespaces, by visibility. A change costs nothing here until a list is asked for. */
export class ListIndexes {
  readonly #namespaces: () => Iterable<ListedNamespace>;
  /** By the rules of the visibility, the least recently used first. */
  readonly #indexes = new Map<string, ListIndex>();
  #log: IndexChange[] = [];
  #logged = 0;
  /** Number of changes that were dropped from the log. */
  #dropped = 0;

  constructor(namespaces: () => Iterable<ListedNamespace>) {
    this.#namespaces = namespaces;
  }

  changed(change: IndexChange): void {
    if (this.#indexes.size === 0) return;
    this.#log.push(change);
    this.#logged += change.removed.length + change.put.length;
    if (this.#logged <= maxLogged) return;
    this.#dropped += this.#log.length;
    this.#log = [];
    this.#logged = 0;
  }

  /** Everything may be different. */
  reset(): void {
    this.#indexes.clear();
    this.#log = [];
    this.#logged = 0;
  }

  /** The lists of what a visibility shows, as they are now. */
  of(visibility: Visibility): ListIndex {
    const { rules } = visibility;
    const now = this.#dropped + this.#log.length;
    const index = this.#indexes.get(rules) ?? this.#made(visibility, now);
    if (index.seen < this.#dropped) index.clear();
    index.update(index.seen === now ? [] : this.#log.slice(Math.max(0, index.seen - this.#dropped)));
    index.seen = now;
    this.#indexes.delete(rules);
    this.#indexes.set(rules, index);
    return index;
  }

  #made(visibility: Visibility, now: number): ListIndex {
    let items = 0;
    for (const { size } of this.#indexes.values()) items += size;
    for (const [rules, { size }] of this.#indexes) {
      if (this.#indexes.size < kept.indexes && items <= kept.items) break;
      this.#indexes.delete(rules);
      items -= size;
    }
    return new ListIndex(this.#namespaces, visibility, now);
  }
}
