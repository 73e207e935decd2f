/** Thrown where a budget of steps is spent. */
export class StepsSpent extends Error {
  override readonly name = "StepsSpent";
}

/** Counts the steps of work that may take too long, and ends it. */
export class StepBudget {
  #max: number;
  #left: number;

  constructor(max: number) {
    this.#max = max;
    this.#left = max;
  }

  get isSpent(): boolean {
    return this.#left < 0;
  }

  /** Allows more steps. */
  grow(steps: number): void {
    this.#max += steps;
    this.#left += steps;
  }

  /** Counts steps of work that looks at `isSpent` itself. */
  count(steps: number): void {
    this.#left -= steps;
  }

  /** @throws StepsSpent */
  take(steps: number): void {
    this.count(steps);
    if (this.isSpent) throw new StepsSpent(`It takes more than ${this.#max} steps`);
  }
}
