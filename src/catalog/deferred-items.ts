import type { Definition } from "../core/definition.ts";
import { refOf } from "../core/entry.ts";
import type { Item, Kind } from "../core/item.ts";
import type { Named } from "../core/rule-names.ts";

/** An item with what it says of itself. */
export interface Registration {
  readonly definition: Definition;
  readonly item: Item;
}

/** An item that is made when it is first needed, such as a prompt whose text is to be parsed. */
export interface DeferredItem {
  readonly kind: "prompt" | "resource";
  readonly key: string;
  readonly name: string;
  /** Makes the item; undefined where that fails, which it has reported. The namespace has no such item from then on. */
  make(): Registration | undefined;
}

/** The first items of a kind by ref, in that order or none, and the number of all. */
export interface PersonalHead<T extends Named = Named> {
  readonly count: number;
  readonly items: readonly T[];
}

/** A question for the first items of a namespace that does not have all of them in memory. */
export interface HeadRequest {
  readonly kinds: readonly Kind[];
  /** The number of items of each kind that are enough. */
  readonly end: number;
  /** Chooses those that are needed. They are in the namespace once the question is answered. */
  choose(heads: Readonly<Partial<Record<Kind, PersonalHead>>>): readonly Named[];
}

interface Deferred {
  readonly item: DeferredItem;
  readonly named: Named;
}

/** The items of a namespace that have not been made yet, by kind and key. */
export class DeferredItems {
  readonly #items: Partial<Record<Kind, Map<string, Deferred>>> = {};

  has(kind: Kind, key: string): boolean {
    return this.#items[kind]?.has(key) === true;
  }

  count(kind: Kind): number {
    return this.#items[kind]?.size ?? 0;
  }

  /** The names of the items of a kind. */
  *names(kind: Kind): Iterable<Named> {
    for (const { named } of this.#items[kind]?.values() ?? []) yield named;
  }

  /** Adds an item, in the place of one that has its kind and key. */
  put(item: DeferredItem, namespace: string): Named {
    const { kind, key, name } = item;
    const named: Named = Object.freeze({ kind, namespace, name, ref: refOf(kind, namespace, key) });
    this.#items[kind] ??= new Map();
    this.#items[kind].set(key, { item, named });
    return named;
  }

  /** Removes an item, and gives it. */
  take(kind: Kind, key: string): Deferred | undefined {
    const deferred = this.#items[kind]?.get(key);
    if (deferred !== undefined) this.#items[kind]?.delete(key);
    return deferred;
  }
}
