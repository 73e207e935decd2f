import { FairQueue } from "./fair-queue.ts";

/** A bound on how many may be at work at once. */
export class ConcurrencyLimit {
  readonly max: number;
  /** Who has a place of one bound may wait for one of a later bound alone. */
  readonly rank: number;
  /** Where somebody waits for its places, in the order of their turns. @internal */
  readonly queues = new Set<ConcurrencyQueue>();
  /** How many are at work. @internal */
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
 * Where those wait who need a place of each of some bounds. They take all at once or none, so that nobody holds one and waits for
 * another; lanes that share a bound have their turns.
 */
export class ConcurrencyQueue {
  readonly limits: readonly ConcurrencyLimit[];
  /** So many may wait. */
  readonly maxWaiting: number;
  readonly #queue = new FairQueue<QueueEntry>();

  constructor(bounds: readonly ConcurrencyLimit[], maxWaiting: number) {
    this.limits = bounds;
    this.maxWaiting = maxWaiting;
  }

  /** Takes the places if they are free and nobody was here before. */
  take(): boolean {
    if (this.#queue.size > 0 || this.#isFull) return false;
    this.takeAnyway();
    return true;
  }

  /** Takes the places whether or not they are free. */
  takeAnyway(): void {
    for (const bound of this.limits) bound.taken += 1;
  }

  /** Waits; false where too many do. */
  enter(ticket: QueueEntry): boolean {
    if (this.#queue.size >= this.maxWaiting) {
      const evicted = this.#queue.evict(ticket.owner);
      if (evicted === undefined) return false;
      evicted.refused();
    }
    this.#queue.push(ticket.owner, ticket);
    for (const { queues: lanes } of this.limits) lanes.add(this);
    return true;
  }

  /** Waits no longer. */
  leave(ticket: QueueEntry): void {
    this.#queue.remove(ticket.owner, ticket);
    if (this.#queue.size === 0) this.#close();
  }

  /** Gives the places back, to whoever is next. */
  give(): void {
    for (const bound of this.limits) bound.taken -= 1;
    // Each lane has one turn before any has another.
    let served = true;
    while (served) {
      served = false;
      for (const lane of new Set(this.limits.flatMap(({ queues: lanes }) => [...lanes])))
        served = lane.#serve() || served;
    }
  }

  get #isFull(): boolean {
    return this.limits.some((bound) => bound.isFull);
  }

  /** Lets in who is next, if there is a place. */
  #serve(): boolean {
    if (this.#isFull) return false;
    const ticket = this.#queue.shift();
    if (ticket === undefined) return false;
    this.takeAnyway();
    this.#close();
    if (this.#queue.size > 0) for (const { queues: lanes } of this.limits) lanes.add(this);
    ticket.granted();
    return true;
  }

  #close(): void {
    for (const { queues: lanes } of this.limits) lanes.delete(this);
  }
}
