import { ToolkitError } from "../core/error.ts";
import type { Content, ReadOptions } from "../core/resource.ts";
import type { RecordList, RecordQuery, Store } from "../core/store.ts";
import type { ItemChange } from "./item-changes.ts";
import { type ItemKey, idOf, isPromptKey, type UserCollection } from "./item-key.ts";
import { partialKeysOf, partialNamesIn } from "./prompt-cache.ts";
import { storedContent, textOfRecord } from "./stored-item.ts";

/** A part of the keys of a collection, and the most of them. */
interface KeyBounds extends Pick<RecordQuery, "after" | "before"> {
  readonly limit?: number | undefined;
}

/** The records of the items of one owner in the store. */
export class UserRecords {
  readonly #store: Store;
  readonly #owner: string;
  readonly #closed: AbortSignal;

  constructor(store: Store, owner: string, closed: AbortSignal) {
    this.#store = store;
    this.#owner = owner;
    this.#closed = closed;
  }

  /** False for a store that cannot count: then it may know no parts of lists either. */
  get areCounted(): boolean {
    return this.#store.count !== undefined;
  }

  /** The records of a collection. Default: all, of any key. */
  list(collection: UserCollection, { limit, ...bounds }: KeyBounds = {}): Promise<RecordList> {
    return this.#store.list({ collection, owner: this.#owner, ...bounds }, { limit, signal: this.#closed });
  }

  async count(collection: UserCollection, bounds: KeyBounds = {}): Promise<number> {
    return (await this.#store.count?.({ collection, owner: this.#owner, ...bounds }, { signal: this.#closed })) ?? 0;
  }

  /** Reads an item as it is now. The content of a resource is read when it is used. */
  async read({ collection, key, version }: ItemChange): Promise<ItemChange> {
    const options = { bytes: false, signal: this.#closed };
    const record = await this.#store.get({ collection, owner: this.#owner, key }, options);
    return { collection, key, version: record?.version ?? version, record };
  }

  /**
   * Reads the partials that prompts use and that are not in memory, themselves or through others.
   *
   * @param memory - says which texts are in memory, or are known not to be there
   */
  async partialsOf(
    prompts: readonly ItemChange[],
    memory: { knows(key: ItemKey): boolean },
  ): Promise<readonly ItemChange[]> {
    const found: ItemChange[] = [];
    const asked = new Set(prompts.map(idOf));
    const users = [...prompts];
    for (let user = users.shift(); user !== undefined; user = users.shift()) {
      const { record, collection } = user;
      if (record === undefined || collection !== "prompt") continue;
      for (const key of partialNamesIn(textOfRecord(record) ?? "").flatMap(partialKeysOf)) {
        const id = idOf({ collection, key });
        if (asked.has(id) || memory.knows({ collection, key }) || !isPromptKey(key)) continue;
        asked.add(id);
        const partial = await this.read({ collection, key, version: 0 });
        found.push(partial);
        users.push(partial);
      }
    }
    return found;
  }

  /** Reads the content of a resource. @throws ToolkitError `NOT_FOUND`, `STORE_FAILED` */
  async content(key: string, { signal }: ReadOptions): Promise<Content> {
    const record = await this.#store.get({ collection: "resource", owner: this.#owner, key }, { signal });
    if (record !== undefined) return storedContent(record);
    const message = `There is no resource ${JSON.stringify(key)} in user any more.`;
    throw new ToolkitError("NOT_FOUND", message, { key, suggestions: [] });
  }
}
