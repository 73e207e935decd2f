import type { ValidationWork } from "./validation-work.ts";

/** The members and entries of one value that some schema has evaluated: `unevaluatedProperties` and `unevaluatedItems` apply to the others. */
export class Seen {
  readonly names = new Set<string>();
  readonly indices = new Set<number>();
  allNames = false;
  /** Entries before this index. */
  before = 0;

  /** Adds those that another schema has evaluated. */
  merge(other: Seen, work: ValidationWork): void {
    work.take(other.names.size + other.indices.size);
    for (const name of other.names) this.names.add(name);
    for (const index of other.indices) this.indices.add(index);
    this.allNames ||= other.allNames;
    this.before = Math.max(this.before, other.before);
  }
}
