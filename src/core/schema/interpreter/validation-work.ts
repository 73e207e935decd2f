import { ToolkitError } from "../../error.ts";
import { sizeOf } from "../size.ts";

/** The steps that any validation may take. */
const minSteps = 2_000_000;
/** The steps that a large value may take, for each value inside it. */
const stepsPerValue = 10;
/** The schemas that may be applied inside each other: references and values that are nested count. */
export const maxDepth = 1_000;
/** Where counting the values in a value ends: one that contains itself has no end. */
const maxSize = 5_000_000;

/**
 * Counts the steps of one validation: a schema applied to a value, a name looked up, a value compared. It ends before it takes long,
 * whatever the schema and the value.
 */
export class ValidationWork {
  readonly #max: number;
  #left: number;

  constructor(value: unknown) {
    this.#max = Math.max(minSteps, stepsPerValue * sizeOf(value, maxSize));
    this.#left = this.#max;
  }

  /** Allows the same number of steps once more: to search for what is wrong with a value. */
  restart(): void {
    this.#left = this.#max;
  }

  /** @throws ToolkitError `LIMIT_EXCEEDED` with the limit `validationSteps` */
  take(steps: number): void {
    this.#left -= steps;
    if (this.#left >= 0) return;
    const message = `The validation takes more than ${this.#max} steps. Make the value smaller, or the schema simpler.`;
    throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "validationSteps", max: this.#max });
  }
}

/** @throws ToolkitError `LIMIT_EXCEEDED` with the limit `validationDepth` */
export function assertDepth(depth: number): void {
  if (depth <= maxDepth) return;
  const message = `More than ${maxDepth} schemas apply inside each other. Nest the value less deep, or the schema.`;
  throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "validationDepth", max: maxDepth });
}
