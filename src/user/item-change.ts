import { refOf } from "../core/entry.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { userNamespace } from "../core/identifier.ts";
import type { StoredRecord } from "../core/store.ts";
import { present } from "../lib/value.ts";
import { isPartialKey } from "./prompt-cache.ts";

/** The collections of the namespace `user`. */
export type UserCollection = "prompt" | "resource";

/** What names an item of an owner. */
export interface ItemKey {
  readonly collection: UserCollection;
  readonly key: string;
}

/** What is in the store under a key, or was heard to be. */
export interface Change extends ItemKey {
  readonly version: number;
  /** Undefined where it was deleted, or is not known. */
  readonly record?: StoredRecord | undefined;
  readonly deleted?: boolean | undefined;
}

/** A key as one text. */
export function idOf({ collection, key }: ItemKey): string {
  return `${collection} ${key}`;
}

/** The change that a record in the store is. */
export function changeOf(record: StoredRecord): Change {
  const { key, version } = record;
  return { collection: record.collection as UserCollection, key, version, record };
}

/**
 * What is told of a change of an owner whose items are not in memory: whether the item was there before is known of the first version
 * alone.
 */
export function eventsOf({ collection, key, version, deleted }: Change, principal: string | undefined): ToolkitEvent[] {
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
