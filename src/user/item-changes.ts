import { refOf } from "../core/entry.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { userNamespace } from "../core/identifier.ts";
import type { StoredRecord } from "../core/store.ts";
import { present } from "../lib/value.ts";
import { type ItemKey, idOf, isPartialKey, type UserCollection } from "./item-key.ts";

/** A version of an item in the store, read or reported. */
export interface ItemChange extends ItemKey {
  readonly version: number;
  /** Undefined where the item was deleted, or was not read. */
  readonly record?: StoredRecord | undefined;
  readonly deleted?: boolean | undefined;
}

/** The change that a record is. */
export function changeOf(record: StoredRecord): ItemChange {
  const { key, version } = record;
  return { collection: record.collection as UserCollection, key, version, record };
}

/**
 * The events of a change of an owner whose items are not in memory. Whether the item existed before is known of the first version only:
 * a later one counts as changed.
 */
export function eventsOf(
  { collection, key, version, deleted }: ItemChange,
  principal: string | undefined,
): ToolkitEvent[] {
  if (collection === "prompt" && isPartialKey(key)) return [];
  const refs = [refOf(collection, userNamespace, key)];
  const none: readonly string[] = [];
  const of = { namespace: userNamespace, ...present({ principal }) };
  const isNew = version === 1;
  const lists = deleted
    ? { added: none, removed: refs, changed: none }
    : { added: isNew ? refs : none, removed: none, changed: isNew ? none : refs };
  if (collection === "prompt") return [{ type: "promptListChanged", ...of, ...lists }];
  const listChanged: ToolkitEvent = { type: "resourceListChanged", ...of, ...lists };
  return isNew || deleted ? [listChanged] : [listChanged, { type: "resourceUpdated", ...of, uri: key }];
}

/** The most deletions that are remembered: older ones are not reported any more. */
const maxDeleted = 1_000;

interface CurrentVersion extends ItemKey {
  readonly version: number;
  /** Number of changes noted up to this one. */
  readonly notedAs: number;
}

/** The version of each item in memory, by which changes that come late from a list, a write or another process are ignored. */
export class ItemVersions {
  readonly #current = new Map<string, CurrentVersion>();
  readonly #deleted = new Map<string, number>();
  #noted = 0;

  /** True for an item that is in memory, or of which it is known that it is not there. */
  knows(key: ItemKey): boolean {
    const id = idOf(key);
    return this.#current.has(id) || this.#deleted.has(id);
  }

  /** Number of items in memory. */
  get size(): number {
    return this.#current.size;
  }

  /** True for a change that is newer than the item in memory. */
  isNewer(change: ItemChange): boolean {
    const id = idOf(change);
    return (this.#current.get(id)?.version ?? this.#deleted.get(id) ?? 0) < change.version;
  }

  note({ collection, key, version, record }: ItemChange): void {
    const id = idOf({ collection, key });
    this.#noted += 1;
    this.#deleted.delete(id);
    if (record !== undefined) {
      this.#current.set(id, { collection, key, version, notedAs: this.#noted });
      return;
    }
    this.#current.delete(id);
    this.#deleted.set(id, version);
    const [oldest] = this.#deleted.keys();
    if (this.#deleted.size > maxDeleted && oldest !== undefined) this.#deleted.delete(oldest);
  }

  /** Number of changes noted so far. */
  get noted(): number {
    return this.#noted;
  }

  /** The deletions of items that were in memory when a list began, and are not listed. */
  missing(listed: ReadonlySet<string>, notedBefore: number): readonly ItemChange[] {
    return [...this.#current]
      .filter(([id, { notedAs }]) => notedAs <= notedBefore && !listed.has(id))
      .map(([, { collection, key, version }]) => ({ collection, key, version: version + 1 }));
  }
}
