/** One after the other, by key. */
export class Turns {
  readonly #last = new Map<string, Promise<unknown>>();

  /** Runs when whatever came before it under this key is over, however that ended. */
  async take<T>(key: string, run: () => Promise<T>): Promise<T> {
    const turn = (this.#last.get(key) ?? Promise.resolve()).then(run, run);
    this.#last.set(key, turn);
    try {
      return await turn;
    } finally {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    }
  }
}
