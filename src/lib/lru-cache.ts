/** The bounds of a cache: beyond one of them what was used longest ago goes. */
export interface CacheBounds {
  /** Entries. Default: no bound. */
  readonly maxEntries?: number | undefined;
  /** The sizes of all entries together. Default: no bound. */
  readonly maxSize?: number | undefined;
}

interface Sized<V> {
  readonly value: V;
  readonly size: number;
}

/** Keeps what was used last, within its bounds. */
export class LruCache<V> {
  readonly #maxEntries: number;
  readonly #maxSize: number;
  /** The one used longest ago first: a Map keeps the order in which its keys were set. */
  readonly #entries = new Map<string, Sized<V>>();
  #total = 0;

  constructor({ maxEntries = Number.POSITIVE_INFINITY, maxSize = Number.POSITIVE_INFINITY }: CacheBounds) {
    this.#maxEntries = maxEntries;
    this.#maxSize = maxSize;
  }

  /** The number of entries. */
  get size(): number {
    return this.#entries.size;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** One that is larger than the bound is not kept, and nothing else goes for it. */
  set(key: string, value: V, size = 0): void {
    this.delete(key);
    if (size > this.#maxSize || this.#maxEntries < 1) return;
    this.#entries.set(key, { value, size });
    this.#total += size;
    // A Map has a hole for each key that was taken out or moved to its end: even to find its first may take as long as it is large.
    if (this.#fits) return;
    for (const oldest of this.#entries.keys()) {
      if (this.#fits) return;
      this.delete(oldest);
    }
  }

  get #fits(): boolean {
    return this.#entries.size <= this.#maxEntries && this.#total <= this.#maxSize;
  }

  delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#total -= entry.size;
  }
}
