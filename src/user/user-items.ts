import type { Catalog } from "../catalog/catalog.ts";
import type { Namespace, Registration } from "../catalog/namespace.ts";
import { readDefinition } from "../core/definition.ts";
import { ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { userNamespace } from "../core/identifier.ts";
import type { Item, Kind, ListFailure } from "../core/item.ts";
import type { Content, ReadOptions } from "../core/resource.ts";
import type { RecordList, StoredRecord } from "../core/store.ts";
import { present } from "../lib/value.ts";
import { type Change, changeOf, idOf, type UserCollection } from "./item-change.ts";
import { ItemVersions } from "./item-versions.ts";
import { PromptCache, type Revision } from "./prompt-cache.ts";
import { promptText } from "./prompt-text.ts";
import { resourceValue, StoredResource } from "./stored-resource.ts";

/** Where items are shown. */
export interface ItemsHost {
  readonly catalog: Catalog;
  now(): number;
  emit(event: ToolkitEvent): void;
  /** Reads the content of a resource from the store. */
  read(uri: string, options: ReadOptions): Promise<Content>;
}

/** The items that one owner has, as they are shown in its namespace. */
export class UserItems {
  readonly shelf = new PromptCache();
  readonly #versions = new ItemVersions();
  readonly #namespace: Namespace;
  readonly #host: ItemsHost;
  /** What cannot be read. Where an item was shown before, it is still. */
  readonly #unreadable = new Map<string, ListFailure>();

  constructor(namespace: Namespace, host: ItemsHost) {
    this.#namespace = namespace;
    this.#host = host;
  }

  get failures(): readonly ListFailure[] {
    return [...this.#unreadable.values()];
  }

  /** When a list begins: for `takeLists`. */
  get now(): number {
    return this.#versions.now;
  }

  /** True for what is newer than what is shown. */
  isNews(change: Change): boolean {
    return this.#versions.isNews(change);
  }

  /** Shows what changed, and tells. */
  take(changes: readonly Change[]): void {
    const fresh = changes.filter((change) => this.isNews(change));
    if (fresh.length > 0) this.#show(fresh, this.shelf.revise(this.#texts(fresh)), true);
  }

  /** Makes what is shown exactly what was listed, but for what has changed since the list began. Tells, where that is news. */
  async takeLists(lists: readonly RecordList[], since: number, isNews: boolean): Promise<void> {
    const records = lists.flatMap((list) => list.records.map(changeOf));
    const failures = lists.flatMap((list) => list.failures);
    const keyOf = ({ collection, key }: (typeof failures)[number]) =>
      idOf({ collection: collection as UserCollection, key });
    const listed = new Set([...records.map(idOf), ...failures.map(keyOf)]);
    const found = [...records, ...this.#versions.missing(listed, since)];
    this.#unreadable.clear();
    for (const failure of failures) this.#fail(keyOf(failure), failure.error);
    const fresh = found.filter((change) => this.isNews(change));
    const revision = await this.shelf.reviseAll(this.#texts(fresh));
    this.#show(fresh, revision, isNews);
  }

  #show(changes: readonly Change[], revision: Revision, isNews: boolean): void {
    const { put: prompts, gone } = this.shelf.commit(revision);
    const put = prompts.map(registered);
    const remove: { kind: Kind; key: string }[] = gone.map((key) => ({ kind: "prompt", key }));
    const updated: string[] = [];
    for (const change of changes) {
      const { collection, key, record } = change;
      this.#versions.note(change);
      if (collection !== "resource") continue;
      const before = this.#namespace.get("resource", key);
      const item = record === undefined ? undefined : this.#resource(record);
      if (item !== undefined) put.push(registered(item));
      else if (record === undefined) remove.push({ kind: "resource", key });
      if (item !== undefined && before !== undefined) updated.push(key);
    }
    this.#failBroken();
    const { catalog, emit } = this.#host;
    if (!isNews) {
      catalog.fill(this.#namespace, { put, remove });
      return;
    }
    catalog.change(this.#namespace, { put, remove });
    const of = { namespace: userNamespace, ...present({ principal: this.#namespace.principal }) };
    for (const uri of updated) emit({ type: "resourceUpdated", uri, ...of });
  }

  #resource(record: StoredRecord): StoredResource | undefined {
    return this.#noting(idOf(changeOf(record)), () => {
      const read = (options: ReadOptions) => this.#host.read(record.key, options);
      const item = new StoredResource(record.key, resourceValue(record), read);
      // Made now: what cannot be told of it harms this one only.
      void readDefinition(item, "local").fingerprint;
      return item;
    });
  }

  /** The texts of prompts by key. What is none is among the failures, and stays what it was. */
  #texts(changes: readonly Change[]): ReadonlyMap<string, string | undefined> {
    const texts = new Map<string, string | undefined>();
    for (const { collection, key, record } of changes) {
      this.#unreadable.delete(idOf({ collection, key }));
      if (collection !== "prompt") continue;
      this.#noting(idOf({ collection, key }), () =>
        texts.set(key, record === undefined ? undefined : promptText(record)),
      );
    }
    return texts;
  }

  /** Does something with one item. What is wrong with it is a failure of its own. */
  #noting<T>(id: string, run: () => T): T | undefined {
    try {
      return run();
    } catch (error) {
      if (!ToolkitError.is(error)) throw error;
      this.#fail(id, error);
      return undefined;
    }
  }

  #failBroken(): void {
    const { broken } = this.shelf;
    for (const [id, { error }] of this.#unreadable) {
      const key = id.slice("prompt ".length);
      if (ToolkitError.is(error, "STORE_FAILED") || broken.has(key)) continue;
      this.#unreadable.delete(id);
    }
    for (const [key, error] of broken) this.#fail(`prompt ${key}`, error);
  }

  #fail(id: string, error: ToolkitError): void {
    if (this.#unreadable.get(id)?.error.message === error.message) return;
    this.#unreadable.set(id, { namespace: userNamespace, error, since: this.#host.now() });
  }
}

function registered(item: Item): Registration {
  return { definition: readDefinition(item, "local"), item };
}
