import type { Definition } from "../core/definition.ts";
import type { ListEventType } from "../core/event.ts";
import type { Kind } from "../core/item.ts";
import type { Named } from "../core/rule-names.ts";
import type { DeferredItem, Registration } from "./deferred-items.ts";

/** A change of a namespace: items to put and to remove. */
export interface NamespaceChange {
  readonly put?: readonly Registration[] | undefined;
  /** Items that are made later. Each counts as changed where there was one. */
  readonly defer?: readonly DeferredItem[] | undefined;
  readonly remove?: readonly { readonly kind: Kind; readonly key: string }[] | undefined;
}

/** The entries that a change added, removed and changed, by kind. */
export type Difference = { readonly [K in Kind]?: { added: Named[]; removed: Named[]; changed: Named[] } };

const announcements: readonly (readonly [ListEventType, readonly Kind[]])[] = [
  ["toolListChanged", ["tool"]],
  ["promptListChanged", ["prompt"]],
  ["resourceListChanged", ["resource", "template"]],
];

/** The entries of each event that differences make: one for each kind of list that has any. */
export function* changedLists(
  differences: readonly Difference[],
): Generator<readonly [ListEventType, { added: Named[]; removed: Named[]; changed: Named[] }]> {
  for (const [type, kinds] of announcements) {
    const lists = differences.flatMap((difference) => kinds.flatMap((kind) => difference[kind] ?? []));
    if (lists.length === 0) continue;
    const added = lists.flatMap((list) => list.added);
    const removed = lists.flatMap((list) => list.removed);
    yield [type, { added, removed, changed: lists.flatMap((list) => list.changed) }];
  }
}

/** True for what is the same to those who use it: it says the same of itself, and is refused or not as before. */
export function isSame(before: Definition, after: Definition): boolean {
  return before.fingerprint === after.fingerprint && before.refusal?.rule === after.refusal?.rule;
}

/** The keys of resources and templates by their names, which several may have. */
export class KeysByName {
  readonly #keys = new Map<string, Set<string>>();

  constructor(items: Iterable<Named>) {
    this.change({ removed: [], put: items });
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

/** The key of an item: the URI of a resource or template, else the name. */
export function keyOf({ kind, name, ref, namespace }: Named): string {
  return kind === "tool" || kind === "prompt" ? name : ref.slice(0, -namespace.length - 1);
}
