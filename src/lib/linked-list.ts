/** A member of a list, which has its neighbours itself: to enter and to leave costs two pointers. */
export interface Link<T> {
  previous: T | undefined;
  next: T | undefined;
  /** It is in its list. */
  isActive: boolean;
}

/** Links, the latest first. A link is in one list, once. */
export class LinkedList<T extends Link<T>> implements Iterable<T> {
  first: T | undefined;
  size = 0;

  /** Adds a link, as the first. */
  add(link: T): void {
    const { first } = this;
    link.isActive = true;
    link.next = first;
    if (first !== undefined) first.previous = link;
    this.first = link;
    this.size += 1;
  }

  /** Takes a link out; false where it has left already. */
  remove(link: T): boolean {
    if (!link.isActive) return false;
    link.isActive = false;
    const { previous, next } = link;
    if (previous === undefined) this.first = next;
    else previous.next = next;
    if (next !== undefined) next.previous = previous;
    // A link that is over keeps no other in memory.
    link.previous = undefined;
    link.next = undefined;
    this.size -= 1;
    return true;
  }

  *[Symbol.iterator](): Iterator<T> {
    for (let link = this.first; link !== undefined; link = link.next) yield link;
  }
}
