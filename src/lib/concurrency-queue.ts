/** A limit on how many may be at work at once. */
export class ConcurrencyLimit {
  readonly max: number;
  /** A holder of a place under one limit may wait for one under a limit of a later rank alone. */
  readonly rank: number;
  /** The queues with entries that wait for a place under it, in the order of their turns. @internal */
  readonly queues = new Set<ConcurrencyQueue>();
  /** The number at work. @internal */
  taken = 0;

  constructor(max: number, rank: number) {
    this.max = max;
    this.rank = rank;
  }
}

/** One that waits for its places. */
export interface QueueEntry {
  readonly owner: string;
  /** Its places are taken for it. */
  granted(): void;
  /** Another goes before it, and the queue is full. */
  refused(): void;
}

/**
 * Waits for a place under each of several limits. An entry takes all of them at once or none, so that none holds one and waits for
 * another; queues that share a limit take turns.
 */
export class ConcurrencyQueue {
  readonly limits: readonly ConcurrencyLimit[];
  /** The most that may wait. */
  readonly maxWaiting: number;
  readonly #queue = new FairQueue<QueueEntry>();

  constructor(limits: readonly ConcurrencyLimit[], maxWaiting: number) {
    this.limits = limits;
    this.maxWaiting = maxWaiting;
  }

  /** Takes the places if they are free and no entry waits. */
  take(): boolean {
    if (this.#queue.size > 0 || this.#isFull) return false;
    this.takeAnyway();
    return true;
  }

  /** Takes the places whether or not they are free. */
  takeAnyway(): void {
    for (const limit of this.limits) limit.taken += 1;
  }

  /** Waits; false where too many do. */
  enter(entry: QueueEntry): boolean {
    if (this.#queue.size >= this.maxWaiting) {
      const evicted = this.#queue.evict(entry.owner);
      if (evicted === undefined) return false;
      evicted.refused();
    }
    this.#queue.push(entry.owner, entry);
    for (const { queues } of this.limits) queues.add(this);
    return true;
  }

  /** Waits no longer. */
  leave(entry: QueueEntry): void {
    this.#queue.remove(entry.owner, entry);
    if (this.#queue.size === 0) this.#close();
  }

  /** Gives the places back, to the entry that is next. */
  give(): void {
    for (const limit of this.limits) limit.taken -= 1;
    let waiting = 0;
    for (const { queues } of this.limits) waiting += queues.size;
    if (waiting === 0) return;
    // Each queue has one turn before any has another.
    let served = true;
    while (served) {
      served = false;
      for (const queue of new Set(this.limits.flatMap(({ queues }) => [...queues]))) served = queue.#serve() || served;
    }
  }

  get #isFull(): boolean {
    for (const { taken, max } of this.limits) if (taken >= max) return true;
    return false;
  }

  /** Lets the next entry in, if there is a place. */
  #serve(): boolean {
    if (this.#isFull) return false;
    const entry = this.#queue.shift();
    if (entry === undefined) return false;
    this.takeAnyway();
    this.#close();
    if (this.#queue.size > 0) for (const { queues } of this.limits) queues.add(this);
    entry.granted();
    return true;
  }

  #close(): void {
    for (const { queues } of this.limits) queues.delete(this);
  }
}

/**
 * A queue in which owners take turns: a thousand items of one owner do not delay the one of another. Items of one owner come
 * in their order.
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
