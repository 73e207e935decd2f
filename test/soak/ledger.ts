/** The number of times that the servers ran each call, by its id, until it is settled. */
export class Ledger {
  readonly #runs = new Map<string, number>();

  /** A server runs it. */
  ran(id: unknown): void {
    const key = String(id);
    this.#runs.set(key, this.runs(key) + 1);
  }

  runs(id: string): number {
    return this.#runs.get(id) ?? 0;
  }

  forget(id: string): void {
    this.#runs.delete(id);
  }
}
