import { FairQueue } from "./fair-queue.ts";

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

  get isFull(): boolean {
    return this.taken >= this.max;
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
    // Each queue has one turn before any has another.
    let served = true;
    while (served) {
      served = false;
      for (const queue of new Set(this.limits.flatMap(({ queues }) => [...queues]))) served = queue.#serve() || served;
    }
  }

  get #isFull(): boolean {
    return this.limits.some((limit) => limit.isFull);
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
