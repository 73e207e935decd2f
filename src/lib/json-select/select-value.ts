import type { StepBudget } from "../step-budget.ts";
import { isRecord } from "../value.ts";

/** Thrown for an expression that is wrong, or does not fit the value. */
export class InvalidSelection extends Error {
  override readonly name = "InvalidSelection";
}

/** A part of an expression that a function applies to each element. */
export class ExpressionReference {
  readonly evaluate: (value: unknown) => unknown;

  constructor(evaluate: (value: unknown) => unknown) {
    this.evaluate = evaluate;
  }
}

/** The deepest value that is compared or written. */
const maxDepth = 1_000;

/** The values that JMESPath takes for false: null, false, and a text, list or object that is empty. */
export function isFalse(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === "") return true;
  if (Array.isArray(value)) return value.length === 0;
  return isRecord(value) && Object.keys(value).length === 0;
}

/** True for equal JSON values. @throws StepsSpent */
export function isEqualJson(one: unknown, other: unknown, steps: StepBudget, depth = 0): boolean {
  steps.take(1);
  if (one === other) return true;
  assertDepth(depth);
  if (Array.isArray(one) && Array.isArray(other)) {
    const isSame = (element: unknown, at: number) => isEqualJson(element, other[at], steps, depth + 1);
    return one.length === other.length && one.every(isSame);
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => Object.hasOwn(other, key) && isEqualJson(one[key], other[key], steps, depth + 1));
}

/**
 * A value as JSON. A selection may hold one part many times over, so that its JSON is longer than what it was selected from by any factor.
 *
 * @throws StepsSpent
 */
export function writeJson(value: unknown, steps: StepBudget): string {
  const pieces: string[] = [];
  const push = (piece: string) => {
    steps.take(piece.length);
    pieces.push(piece);
  };
  write(value, push, 0);
  return pieces.join("");
}

function write(value: unknown, push: (piece: string) => void, depth: number): void {
  assertDepth(depth);
  if (Array.isArray(value)) {
    push("[");
    for (const [at, element] of value.entries()) {
      if (at > 0) push(",");
      write(element, push, depth + 1);
    }
    push("]");
  } else if (isRecord(value)) {
    push("{");
    for (const [at, [key, member]] of Object.entries(value).entries()) {
      push(`${at > 0 ? "," : ""}${JSON.stringify(key)}:`);
      write(member, push, depth + 1);
    }
    push("}");
  } else push(JSON.stringify(value) ?? "null");
}

function assertDepth(depth: number): void {
  if (depth > maxDepth) throw new InvalidSelection(`meets a value nested deeper than ${maxDepth}`);
}
