import { ToolkitError } from "../../error.ts";

/** The steps of the largest validation of a small value. */
export const minSteps = 1_000_000;
/** The steps allowed for each value inside a large one. */
export const stepsPerValue = 10;
/** The steps of any validation. */
export const maxSteps = 20_000_000;
/** The schemas that may be applied inside each other: references and values that are nested count. */
export const maxDepth = 2_000;

/**
 * Counts the steps of one validation: a schema applied to a value, a name looked up, a value compared. It ends before it takes long,
 * whatever the schema and the value.
 */
export class ValidationWork {
  readonly #max: number;
  #left: number;

  /** @param size - of the value, see `sizeOf` */
  constructor(size: number) {
    this.#max = Math.min(maxSteps, Math.max(minSteps, stepsPerValue * size));
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

/** The work that validating a value may take. */
export function workFor(value: unknown): ValidationWork {
  return new ValidationWork(sizeOf(value, maxSteps / stepsPerValue));
}

/** @throws ToolkitError `LIMIT_EXCEEDED` with the limit `validationDepth` */
export function assertDepth(depth: number): void {
  if (depth <= maxDepth) return;
  const message = `More than ${maxDepth} schemas apply inside each other. Nest the value less deep, or the schema.`;
  throw new ToolkitError("LIMIT_EXCEEDED", message, { limit: "validationDepth", max: maxDepth });
}

/** Characters that count as one value. */
export const charactersPerStep = 32;

/** The number of values in a value, itself included; long texts count as several. Counting ends at a maximum. */
export function sizeOf(value: unknown, max: number): number {
  return new Counter(max).count(value, 0);
}

class Counter {
  readonly #max: number;
  #count = 0;

  constructor(max: number) {
    this.#max = max;
  }

  count(value: unknown, depth: number): number {
    this.#count += 1;
    if (typeof value === "string") this.#count += Math.floor(value.length / charactersPerStep);
    if (typeof value !== "object" || value === null || this.#count >= this.#max) return this.#count;
    // A value that contains itself has no end.
    if (depth > maxDepth) this.#count = this.#max;
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length && this.#count < this.#max; at += 1) this.count(value[at], depth + 1);
      return this.#count;
    }
    for (const key in value) {
      this.#count += Math.floor(key.length / charactersPerStep);
      this.count((value as Readonly<Record<string, unknown>>)[key], depth + 1);
      if (this.#count >= this.#max) break;
    }
    return this.#count;
  }
}
