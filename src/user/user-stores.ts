import type { ToolkitError } from "../core/error.ts";
import type { Store, StoreEvent } from "../core/store.ts";
import { type Change, eventsOf } from "./item-change.ts";
import { UserStore, type UserStoreHost } from "./user-store.ts";

/** How spaces are made, and how many stay. */
export interface UserStoresOptions extends Omit<UserStoreHost, "down" | "keep" | "watch"> {
  readonly maxPrincipals: number;
}

/** The spaces of all owners. Those that were used last are in memory. */
export class UserStores {
  readonly #options: UserStoresOptions;
  readonly #host: UserStoreHost;
  /** The longest unused first. */
  readonly #spaces = new Map<string, UserStore>();
  readonly #kept = new Map<string, number>();
  #last: UserStore | undefined;
  #unwatch: (() => void) | undefined;
  #down: ToolkitError | undefined;
  #isClosed = false;

  constructor(options: UserStoresOptions) {
    this.#options = options;
    this.#host = { ...options, down: () => this.#down, keep: (owner) => this.keep(owner), watch: () => this.watch() };
    options.catalog.personalize((owner) => this.of(owner).namespace);
  }

  get store(): Store {
    return this.#options.store;
  }

  /** The space of an owner. It reads nothing before it is asked. */
  of(owner: string): UserStore {
    if (this.#last?.owner === owner) return this.#last;
    const space = this.#spaces.get(owner) ?? new UserStore(owner, this.#host);
    this.#spaces.delete(owner);
    this.#spaces.set(owner, space);
    this.#last = space;
    if (this.#spaces.size > this.#options.maxPrincipals) this.#forgetOne();
    return space;
  }

  /** Hears from now on what changes in the store. */
  watch(): void {
    if (this.#isClosed) return;
    this.#unwatch ??= this.#options.store.watch((event) => this.#hear(event));
  }

  /** Has an owner stay in memory until the returned function is called. */
  keep(owner: string): () => void {
    this.#kept.set(owner, (this.#kept.get(owner) ?? 0) + 1);
    let isKept = true;
    return () => {
      if (!isKept) return;
      isKept = false;
      const left = (this.#kept.get(owner) ?? 0) - 1;
      if (left > 0) this.#kept.set(owner, left);
      else this.#kept.delete(owner);
    };
  }

  close(): void {
    this.#isClosed = true;
    this.#unwatch?.();
    for (const space of this.#spaces.values()) space.close();
    this.#spaces.clear();
    this.#last = undefined;
  }

  #forgetOne(): void {
    for (const [owner, space] of this.#spaces) {
      if (space === this.#last || this.#kept.has(owner)) continue;
      this.#spaces.delete(owner);
      space.close();
      return;
    }
  }

  #hear(event: StoreEvent): void {
    switch (event.type) {
      case "changed":
        if (event.collection === "prompt" || event.collection === "resource") {
          const { collection, owner, key, version, deleted } = event;
          this.#changed(owner, { collection, key, version, deleted });
        }
        return;
      case "failed":
        this.#down = event.error;
        for (const space of this.#spaces.values()) space.doubt(event.error);
        return;
      case "recovered":
        this.#down = undefined;
        for (const space of this.#spaces.values()) space.reload();
        return;
      case "gap":
        for (const space of this.#spaces.values()) space.reload();
    }
  }

  #changed(owner: string, change: Change): void {
    const space = this.#spaces.get(owner);
    if (space !== undefined) space.hear(change);
    else for (const told of eventsOf(change, owner === "" ? undefined : owner)) this.#options.emit(told);
  }
}
