import { kindsBehind } from "../catalog/from-template.ts";
import type { WantedItem } from "../catalog/namespace.ts";
import { type Kind, kinds } from "../core/item.ts";
import type { Clock } from "../lib/clock.ts";
import { FirstAttempt } from "../lib/first-attempt.ts";

/** The parts that the record of listed kinds works with. */
export interface ListedKindsHost {
  readonly clock: Clock;
  /** Time that lookups and lists wait for kinds that were never listed, in milliseconds. */
  readonly startTimeoutMs: number;
}

/**
 * The kinds of items that a connection has listed. Tools come first, and a connection is used as soon as they are there: the other kinds are
 * read beside, and are waited for by whatever needs them, until they have been listed for the first time.
 */
export class ListedKinds {
  readonly #host: ListedKindsHost;
  /** Those that were listed in any generation, or could not be, unless a list is read that replaces an empty one. */
  readonly #listed = new Set<Kind>();
  /** Those that the current generation still has to list. */
  readonly #awaited = new Map<Kind, PromiseWithResolvers<void>>();
  #asked = Promise.withResolvers<void>();
  #lookups = new FirstAttempt();
  #calls = new FirstAttempt();

  constructor(host: ListedKindsHost) {
    this.#host = host;
  }

  /**
   * A generation begins that still has to list these kinds. Of those that an earlier one listed the old items are there meanwhile; where there
   * are none, nothing says that the list is an old one, and it is waited for as the first.
   *
   * @param hasItems - true for a kind of which there are old items
   */
  begin(awaited: Iterable<Kind>, hasItems: (kind: Kind) => boolean): void {
    for (const kind of awaited) {
      this.#awaited.set(kind, Promise.withResolvers());
      if (!hasItems(kind)) this.#listed.delete(kind);
    }
    this.#asked = Promise.withResolvers();
    if (this.missing(this.#awaited.keys()).length === 0) return;
    this.#lookups = new FirstAttempt();
    this.#lookups.limit(this.#host.clock, this.#host.startTimeoutMs);
    this.#calls = new FirstAttempt();
    // Without an end of its own: that is the one of the generation, or the time limit of a list.
    this.#calls.limit(this.#host.clock, Number.POSITIVE_INFINITY);
  }

  /** Kinds were listed, or could not be. */
  add(listed: Iterable<Kind>): void {
    for (const kind of listed) {
      this.#listed.add(kind);
      this.#awaited.get(kind)?.resolve();
      this.#awaited.delete(kind);
    }
    if (this.#awaited.size === 0) this.#settle();
  }

  /** The generation has ended: nothing is awaited of it any more. */
  end(): void {
    for (const { resolve } of this.#awaited.values()) resolve();
    this.#awaited.clear();
    this.#settle();
  }

  /** Resolves when a list of the current generation is waited for. */
  get asked(): Promise<void> {
    return this.#asked.promise;
  }

  /** Those of some kinds that were never listed. */
  missing(of: Iterable<Kind> = kinds): readonly Kind[] {
    return [...of].filter((kind) => !this.#listed.has(kind));
  }

  /** True for a kind that the current generation still has to list, and none before it did. */
  isAwaited(kind: Kind): boolean {
    return this.#awaited.has(kind) && !this.#listed.has(kind);
  }

  /** Undefined where the current generation has listed all; else resolves when it has, or has ended. */
  get whole(): Promise<void> | undefined {
    return this.#awaited.size === 0 ? undefined : this.#allOf(kinds);
  }

  /** Undefined where nothing is awaited that may be the item, or for longer than lookups wait; else a promise that resolves then. */
  pendingForLookups(wanted?: WantedItem): Promise<void> | undefined {
    return this.#pending(wanted, this.#lookups);
  }

  /** As `pendingForLookups`, for as long as it takes. */
  pendingForCalls(wanted?: WantedItem): Promise<void> | undefined {
    return this.#pending(wanted, this.#calls);
  }

  #pending({ kinds: given = kinds, key }: Partial<WantedItem> = {}, limit: FirstAttempt): Promise<void> | undefined {
    if (this.#awaited.size === 0) return undefined;
    const missing = (key === undefined ? given : kindsBehind(given)).filter((kind) => this.isAwaited(kind));
    const end = missing.length === 0 ? undefined : limit.pending;
    return end && Promise.race([end, this.#allOf(missing)]);
  }

  async #allOf(some: readonly Kind[]): Promise<void> {
    this.#asked.resolve();
    await Promise.all(some.map((kind) => this.#awaited.get(kind)?.promise));
  }

  #settle(): void {
    this.#lookups.settle();
    this.#calls.settle();
  }
}
