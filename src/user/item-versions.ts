import { type Change, type ItemKey, idOf } from "./item-change.ts";

/** So many deletions are remembered: what is older than they are does not come any more. */
const maxDeleted = 1_000;

interface Shown extends ItemKey {
  readonly version: number;
  /** When it was noted, in notes. */
  readonly at: number;
}

/** Which version of each item is shown: whatever comes late, from a list, a write or another process, changes nothing. */
export class ItemVersions {
  readonly #shown = new Map<string, Shown>();
  readonly #deleted = new Map<string, number>();
  #notes = 0;

  /** True for what is newer than what is shown. */
  isNews(change: Change): boolean {
    const id = idOf(change);
    return (this.#shown.get(id)?.version ?? this.#deleted.get(id) ?? 0) < change.version;
  }

  note({ collection, key, version, record }: Change): void {
    const id = idOf({ collection, key });
    this.#notes += 1;
    this.#deleted.delete(id);
    if (record !== undefined) {
      this.#shown.set(id, { collection, key, version, at: this.#notes });
      return;
    }
    this.#shown.delete(id);
    this.#deleted.set(id, version);
    const [oldest] = this.#deleted.keys();
    if (this.#deleted.size > maxDeleted && oldest !== undefined) this.#deleted.delete(oldest);
  }

  /** A moment: what is noted from now on comes after it. */
  get now(): number {
    return this.#notes;
  }

  /** What was shown at a moment and is not among what a list that began then has: it was deleted. */
  missing(listed: ReadonlySet<string>, since: number): readonly Change[] {
    return [...this.#shown]
      .filter(([id, { at }]) => at <= since && !listed.has(id))
      .map(([, { collection, key, version }]) => ({ collection, key, version: version + 1 }));
  }
}
