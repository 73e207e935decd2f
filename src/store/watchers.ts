import type { StoreEvent } from "../core/store.ts";
import { runDetached } from "../lib/promise.ts";

/** Those who watch a store. */
export class Watchers {
  readonly #listeners = new Set<(event: StoreEvent) => void>();

  get size(): number {
    return this.#listeners.size;
  }

  add(listener: (event: StoreEvent) => void): () => void {
    // One of its own, so that a function that listens twice is two listeners.
    const own = (event: StoreEvent) => listener(event);
    this.#listeners.add(own);
    return () => {
      this.#listeners.delete(own);
    };
  }

  /** Calls all of them. One that throws affects neither the others nor the writer. */
  tell(event: StoreEvent): void {
    const frozen = Object.freeze(event);
    for (const listener of [...this.#listeners]) {
      if (this.#listeners.has(listener))
        runDetached(
          () => listener(frozen),
          () => undefined,
        );
    }
  }

  clear(): void {
    this.#listeners.clear();
  }
}
