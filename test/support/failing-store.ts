import { ToolkitError } from "../../src/core/error.ts";
import type { Store, StoreEvent } from "../../src/core/store.ts";

/** A store that fails when it is told to, and says so to those who watch, as one whose server is gone does. */
export class FailingStore {
  readonly store: Store;
  readonly #inner: Store;
  readonly #listeners = new Set<(event: StoreEvent) => void>();
  #error: ToolkitError<"STORE_FAILED"> | undefined;
  /** Fails the so many writes that come after so many: for what fails in the middle. */
  writesLeft = Number.POSITIVE_INFINITY;

  /** @param options - `closes: false` where the inner store outlives it */
  constructor(inner: Store, { closes = true }: { readonly closes?: boolean } = {}) {
    this.#inner = inner;
    const through = async <T>(run: () => Promise<T>): Promise<T> => {
      if (this.#error !== undefined) throw this.#error;
      return run();
    };
    const write = <T>(run: () => Promise<T>) =>
      through(async () => {
        this.writesLeft -= 1;
        if (this.writesLeft < 0) throw storeFailed("put");
        return run();
      });
    const close = async () => (closes ? inner.close() : undefined);
    this.store = {
      open: (options) => through(() => inner.open(options)),
      get: (key, options) => through(() => inner.get(key, options)),
      list: (query, options) => through(() => inner.list(query, options)),
      count: (query, options) => through(async () => (await inner.count?.(query, options)) ?? 0),
      put: (draft, options) => write(() => inner.put(draft, options)),
      delete: (key, options) => write(() => inner.delete(key, options)),
      history: (key, options) => through(() => inner.history(key, options)),
      watch: (listener) => this.#watch(listener),
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  fail(): void {
    this.#error = storeFailed("list");
    this.#tell({ type: "failed", error: this.#error });
  }

  /** It can be asked again, and tells nobody. */
  recoverSilently(): void {
    this.#error = undefined;
  }

  recover(): void {
    this.recoverSilently();
    this.#tell({ type: "recovered" });
    this.#tell({ type: "gap" });
  }

  #watch(listener: (event: StoreEvent) => void): () => void {
    this.#listeners.add(listener);
    // While it fails it hears nothing either.
    const unwatch = this.#inner.watch((event) => {
      if (this.#error === undefined) listener(event);
    });
    return () => {
      this.#listeners.delete(listener);
      unwatch();
    };
  }

  #tell(event: StoreEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

function storeFailed(operation: string): ToolkitError<"STORE_FAILED"> {
  return new ToolkitError("STORE_FAILED", "The store failed: the server is gone.", { operation });
}
