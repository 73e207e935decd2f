/**
 * A queue in which owners take turns: a thousand items of one owner do not delay the one of another. Items of one owner come
 * in the order in which it went in.
 */
export class FairQueue<Item> {
  // In the order in which the owners have their turns; none is empty.
  readonly #byOwner = new Map<string, Set<Item>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(owner: string, item: Item): void {
    const items = this.#byOwner.get(owner);
    if (items === undefined) this.#byOwner.set(owner, new Set([item]));
    else items.add(item);
    this.#size += 1;
  }

  /** Takes out the next. */
  shift(): Item | undefined {
    for (const [owner, items] of this.#byOwner) {
      for (const item of items) {
        this.remove(owner, item);
        // Others first, before this owner has another turn.
        if (this.#byOwner.delete(owner)) this.#byOwner.set(owner, items);
        return item;
      }
    }
    return undefined;
  }

  /** Takes out one that waits no longer; false where it is not there. */
  remove(owner: string, item: Item): boolean {
    const items = this.#byOwner.get(owner);
    if (items?.delete(item) !== true) return false;
    this.#size -= 1;
    if (items.size === 0) this.#byOwner.delete(owner);
    return true;
  }

  /** Removes the newest item of the owner that has most, where that is more than the given owner would have with one more. */
  evict(owner: string): Item | undefined {
    let [most, whose] = [(this.#byOwner.get(owner)?.size ?? 0) + 1, owner];
    for (const [each, { size }] of this.#byOwner) if (size > most) [most, whose] = [size, each];
    const newest = whose === owner ? undefined : [...(this.#byOwner.get(whose) ?? [])].at(-1);
    if (newest !== undefined) this.remove(whose, newest);
    return newest;
  }
}
