import type { ToolkitError } from "../core/error.ts";
import type { Store, StoreEvent } from "../core/store.ts";
import { eventsOf, type ItemChange } from "./item-changes.ts";
import { UserStore } from "./user-store.ts";
import type { UserStoreHost, UserStoreOwner } from "./user-store-host.ts";

/** Options of the user stores of a toolkit. */
export interface UserStoresOptions extends UserStoreHost {
  /** The most owners whose items are in memory. */
  readonly maxPrincipals: number;
}

/** The most bytes of all owners in memory, approximately. The one that was used last is kept, whatever it has. */
const maxWeight = 256 * 2 ** 20;

/** The user stores of all owners: those that were used last are in memory. */
export class UserStores implements UserStoreOwner {
  readonly #options: UserStoresOptions;
  /** The least recently used first. */
  readonly #stores = new Map<string, UserStore>();
  readonly #pins = new Map<string, number>();
  #latest: UserStore | undefined;
  #unwatch: (() => void) | undefined;
  #watchError: ToolkitError | undefined;
  #isClosed = false;

  constructor(options: UserStoresOptions) {
    this.#options = options;
    options.catalog.personalize((owner) => this.of(owner).namespace);
  }

  get store(): Store {
    return this.#options.store;
  }

  /** The error of the watch, while it fails: changes by others are not reported then. */
  get watchError(): ToolkitError | undefined {
    return this.#watchError;
  }

  /** The user store of an owner. It reads nothing before it is used. */
  of(owner: string): UserStore {
    if (this.#latest?.owner === owner) return this.#latest;
    const store = this.#stores.get(owner) ?? new UserStore(owner, this.#options, this);
    this.#stores.delete(owner);
    this.#stores.set(owner, store);
    this.#latest = store;
    this.#evict();
    return store;
  }

  /** Watches the store for changes from now on: a list that is read after this misses none. */
  watch(): void {
    if (this.#isClosed) return;
    this.#unwatch ??= this.#options.store.watch((event) => this.#on(event));
  }

  /** Keeps an owner in memory until the returned function is called. */
  pin(owner: string): () => void {
    this.#pins.set(owner, (this.#pins.get(owner) ?? 0) + 1);
    let isPinned = true;
    return () => {
      if (!isPinned) return;
      isPinned = false;
      const left = (this.#pins.get(owner) ?? 0) - 1;
      if (left > 0) this.#pins.set(owner, left);
      else this.#pins.delete(owner);
      this.#evict();
    };
  }

  loaded(): void {
    let weight = 0;
    for (const { items } of this.#stores.values()) weight += items.weight;
    for (const [owner, store] of this.#stores) {
      if (weight <= maxWeight) return;
      if (this.#isKept(owner)) continue;
      weight -= store.items.weight;
      this.#drop(owner, store);
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch?.();
    for (const store of this.#stores.values()) store.close();
    this.#stores.clear();
    this.#latest = undefined;
  }

  #evict(): void {
    // A Map has a hole for each key that was taken out or moved to its end: even to find its first may take as long as it is large.
    if (this.#stores.size <= this.#options.maxPrincipals) return;
    for (const [owner, store] of this.#stores) {
      if (this.#stores.size <= this.#options.maxPrincipals) return;
      if (!this.#isKept(owner)) this.#drop(owner, store);
    }
  }

  #isKept(owner: string): boolean {
    return owner === this.#latest?.owner || this.#pins.has(owner);
  }

  #drop(owner: string, store: UserStore): void {
    this.#stores.delete(owner);
    store.close();
  }

  #on(event: StoreEvent): void {
    const stores = this.#stores.values();
    switch (event.type) {
      case "changed":
        if (event.collection === "prompt" || event.collection === "resource") {
          const { collection, owner, key, version, deleted } = event;
          this.#changed(owner, { collection, key, version, deleted });
        }
        return;
      case "failed":
        this.#watchError = event.error;
        for (const store of stores) store.watchFailed(event.error);
        return;
      case "recovered":
        this.#watchError = undefined;
        for (const store of stores) store.reload();
        return;
      case "gap":
        for (const store of stores) store.reload();
    }
  }

  #changed(owner: string, change: ItemChange): void {
    const store = this.#stores.get(owner);
    if (store !== undefined) store.changed(change);
    else for (const event of eventsOf(change, owner === "" ? undefined : owner)) this.#options.emit(event);
  }
}
