import type { RecordKey } from "../../core/store.ts";

interface Told {
  readonly write: number;
  readonly version: number;
}

/**
 * A write of this store arrives twice: in the answer of PostgreSQL, and in the notification to all. This decides which of them is
 * to be reported, so that each change is reported once, and none of a record after a later one.
 *
 * Notices come in the order in which the changes were made; an answer may run ahead of them.
 */
export class OwnWrites {
  #last = 0;
  /** Writes that have begun, and whether their notification has come. */
  readonly #begun = new Map<number, { isHeard: boolean }>();
  /** The latest change reported by an answer, by record, until its notification comes. */
  readonly #ahead = new Map<string, Told>();
  readonly #awaited = new Set<number>();

  begin(): number {
    this.#last += 1;
    this.#begun.set(this.#last, { isHeard: false });
    return this.#last;
  }

  /** PostgreSQL answered that it is done. True where that is to be reported. */
  done(write: number, named: RecordKey, version: number): boolean {
    const begun = this.#begun.get(write);
    this.#begun.delete(write);
    if (begun?.isHeard) return false;
    this.#awaited.add(write);
    if (this.#isBehind(named, version)) return false;
    this.#ahead.set(idOf(named), { write, version });
    return true;
  }

  /** It was not done, or that is not known: should its notification come after all, that is reported. */
  failed(write: number): void {
    this.#begun.delete(write);
  }

  /** The notification of an own write came. True where that is to be reported. */
  heard(write: number, named: RecordKey, version: number): boolean {
    const begun = this.#begun.get(write);
    if (begun !== undefined) begun.isHeard = true;
    const isTold = this.#awaited.delete(write);
    const isBehind = this.#isBehind(named, version);
    const id = idOf(named);
    if (this.#ahead.get(id)?.write === write) this.#ahead.delete(id);
    return !isTold && !isBehind;
  }

  /** The notification of a change of another process came. True where that is to be reported. */
  heardElsewhere(named: RecordKey, version: number): boolean {
    return !this.#isBehind(named, version);
  }

  /** No notification comes for changes reported until now: no connection listened. */
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
