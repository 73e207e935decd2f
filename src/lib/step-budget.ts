/** Thrown where a budget of steps is spent. */
export class StepsSpent extends Error {
  override readonly name = "StepsSpent";
}

/** Counts the steps of work that may take too long, and ends it. */
export class StepBudget {
  readonly max: number;
  #left: number;

  constructor(max: number) {
    this.max = max;
    this.#left = max;
  }

  /** @throws StepsSpent */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new StepsSpent(`It takes more than ${this.max} steps`);
  }
}
