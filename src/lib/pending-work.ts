/** Work in progress that must have ended before something is closed. */
export class PendingWork {
  readonly #going = new Set<Promise<void>>();

  /** Is waited for until it has ended, however that is. */
  hold(work: Promise<unknown>): void {
    const nothing = () => undefined;
    const going: Promise<void> = work.then(nothing, nothing).finally(() => this.#going.delete(going));
    this.#going.add(going);
  }

  /** Resolves when all of it has ended, that which is begun meanwhile included. */
  async ended(): Promise<void> {
    while (this.#going.size > 0) await Promise.all(this.#going);
  }
}
