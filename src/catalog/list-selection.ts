import type { Kind } from "../core/item.ts";
import type { Named } from "../core/rule-names.ts";
import { byRef, mergedSlice, SortedList } from "../lib/sorted-list.ts";
import type { ListIndexes } from "./list-index.ts";
import type { Namespace } from "./namespace.ts";
import type { Scope } from "./scope.ts";
import { everything, type Visibility } from "./visibility.ts";

/** The items that a list is asked for. */
export interface ListFilter {
  /** In the order in which they are listed. */
  readonly kinds: readonly Kind[];
  /** Default: all. */
  readonly namespaces?: ReadonlySet<string> | undefined;
  /** Names, refs or URIs. Default: all. */
  readonly names?: ReadonlySet<string> | undefined;
  /** Whether the items of the owner are left out. Default: they are not. */
  readonly isCommon?: boolean | undefined;
  /** Default: everything. */
  readonly visibility?: Visibility | undefined;
}

/** The items that fit a filter, kind after kind, each by ref in code-unit order. What is not asked for is not touched. */
export class ListSelection {
  readonly count: number;
  readonly #lists: readonly (readonly SortedList<Named>[])[];
  readonly #whole: (() => readonly Named[]) | undefined;

  /**
   * @param lists - of each kind
   * @param whole - gives all of them, where that is known already
   */
  constructor(lists: readonly (readonly SortedList<Named>[])[], whole?: () => readonly Named[]) {
    this.#lists = lists;
    this.#whole = whole;
    this.count = lists.flat().reduce((count, { size }) => count + size, 0);
  }

  /** The items from one position up to another, which is not included. A frozen array. */
  slice(start: number, end = this.count): readonly Named[] {
    if (start === 0 && end >= this.count && this.#whole !== undefined) return this.#whole();
    const parts: Named[][] = [];
    let before = 0;
    for (const lists of this.#lists) {
      const size = lists.reduce((sum, list) => sum + list.size, 0);
      if (before < end && before + size > start)
        parts.push(mergedSlice(lists, Math.max(0, start - before), Math.min(size, end - before)));
      before += size;
    }
    // Faster than `flat` by far.
    return Object.freeze(([] as Named[]).concat(...parts));
  }
}

/**
 * Selects items of the namespaces that an owner has.
 *
 * @param common - the lists of the namespaces that all have
 * @param wholes - keeps whole lists of owners
 */
export function select(filter: ListFilter, scope: Scope, common: ListIndexes, wholes: WholeLists): ListSelection {
  const { kinds, namespaces, names, visibility = everything } = filter;
  if (names !== undefined) return new ListSelection(kinds.map((kind) => [named(kind, names, filter, scope)]));
  if (namespaces !== undefined) {
    const wanted = scope.named(namespaces).filter((each) => !filter.isCommon || each !== scope.personal);
    const indexes = wanted.map(({ lists }) => lists.of(visibility));
    return new ListSelection(kinds.map((kind) => indexes.map((index) => index.list(kind))));
  }
  const all = common.of(visibility);
  const own = filter.isCommon ? undefined : scope.personal?.lists.of(visibility);
  const lists = kinds.map((kind) => [all.list(kind), ...(own === undefined ? [] : [own.list(kind)])]);
  const isShared = own === undefined || kinds.every((kind) => own.list(kind).size === 0);
  if (isShared) return new ListSelection(lists, () => all.whole(kinds));
  return new ListSelection(lists, () =>
    wholes.of(all.whole(kinds), own.whole(kinds), () => new ListSelection(lists).slice(0)),
  );
}

/** The most items of all lists that are kept. */
const maxKept = 1_000_000;

/** Whole lists of what all have and what one owner has, the least recently used first. Such a list is kept until one of both is another. */
export class WholeLists {
  readonly #lists = new Map<readonly Named[], { readonly common: readonly Named[]; readonly list: readonly Named[] }>();
  #size = 0;

  of(common: readonly Named[], own: readonly Named[], make: () => readonly Named[]): readonly Named[] {
    const known = this.#lists.get(own);
    const list = known?.common === common ? known.list : make();
    this.#size += list.length - (known?.list.length ?? 0);
    this.#lists.delete(own);
    this.#lists.set(own, { common, list });
    for (const [oldest, { list: dropped }] of this.#lists) {
      if (this.#size <= maxKept || oldest === own) break;
      this.#lists.delete(oldest);
      this.#size -= dropped.length;
    }
    return list;
  }
}

/** The visible items of a kind that have one of some names. */
function named(
  kind: Kind,
  names: ReadonlySet<string>,
  { namespaces, visibility = everything }: ListFilter,
  scope: Scope,
): SortedList<Named> {
  const wanted = (namespace: Namespace) => namespace.count(kind) > 0 && (namespaces?.has(namespace.name) ?? true);
  const found = new Set<Named>();
  const add = (namespace: Namespace | undefined, name: string) => {
    if (namespace === undefined || !wanted(namespace)) return;
    for (const item of namespace.named(kind, name)) if (visibility.entry(item)) found.add(item);
  };
  for (const name of names) {
    for (const namespace of scope.namespaces) add(namespace, name);
    const dot = name.indexOf(".");
    const hash = name.lastIndexOf("#");
    if (kind === "tool" || kind === "prompt")
      add(scope.namespace(name.slice(0, Math.max(0, dot))), name.slice(dot + 1));
    else if (hash > 0) add(scope.namespace(name.slice(hash + 1)), name.slice(0, hash));
  }
  return new SortedList([...found].sort(byRef));
}
