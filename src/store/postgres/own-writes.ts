import type { RecordKey } from "../../core/store.ts";

interface Told {
  readonly write: number;
  readonly version: number;
}

/**
 * What this store writes it hears twice: from the answer of PostgreSQL, and from the notice that goes to all. This says which of them is
 * to be told on, so that each change is told once, and none of a record after a later one.
 *
 * Notices come in the order in which the changes were made; an answer may run ahead of them.
 */
export class OwnWrites {
  #last = 0;
  /** Begun, and heard of in a notice or not. */
  readonly #begun = new Map<number, { isHeard: boolean }>();
  /** What an answer told, by record, until its notice comes: the latest of each. */
  readonly #ahead = new Map<string, Told>();
  readonly #awaited = new Set<number>();

  begin(): number {
    this.#last += 1;
    this.#begun.set(this.#last, { isHeard: false });
    return this.#last;
  }

  /** PostgreSQL answered that it is done. True where that is to be told. */
  done(write: number, named: RecordKey, version: number): boolean {
    const begun = this.#begun.get(write);
    this.#begun.delete(write);
    if (begun?.isHeard) return false;
    this.#awaited.add(write);
    if (this.#isBehind(named, version)) return false;
    this.#ahead.set(idOf(named), { write, version });
    return true;
  }

  /** It was not done, or nobody knows: should its notice come after all, that is told. */
  failed(write: number): void {
    this.#begun.delete(write);
  }

  /** The notice of an own write came. True where that is to be told. */
  heard(write: number, named: RecordKey, version: number): boolean {
    const begun = this.#begun.get(write);
    if (begun !== undefined) begun.isHeard = true;
    const isTold = this.#awaited.delete(write);
    const isBehind = this.#isBehind(named, version);
    const id = idOf(named);
    if (this.#ahead.get(id)?.write === write) this.#ahead.delete(id);
    return !isTold && !isBehind;
  }

  /** The notice of somebody else's change came. True where that is to be told. */
  heardElsewhere(named: RecordKey, version: number): boolean {
    return !this.#isBehind(named, version);
  }

  /** No notice comes of what was told until now: nobody listened. */
  forget(): void {
    this.#ahead.clear();
    this.#awaited.clear();
  }

  #isBehind(named: RecordKey, version: number): boolean {
    return (this.#ahead.get(idOf(named))?.version ?? 0) > version;
  }
}

function idOf({ collection, owner, key }: RecordKey): string {
  return `${collection}\0${owner}\0${key}`;
}
