/** A reason why a parsed value is refused: too many levels, or a number beyond what a double holds, which JSON.parse reads as Infinity. */
export type JsonFault = "depth" | "number";

/**
 * The first fault of a value of which no more than `max` objects and lists may be inside each other. Nothing is looked at beyond that, so
 * that no value ends the stack, not even one that contains itself.
 */
export function jsonFault(value: unknown, max: number): JsonFault | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "number";
  return typeof value === "object" && value !== null ? faultIn(value, max) : undefined;
}

// Texts and numbers, which are most values, cost no call.
function faultIn(value: object, max: number): JsonFault | undefined {
  if (max <= 0) return "depth";
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const entry: unknown = value[at];
      const fault = typeof entry === "object" && entry !== null ? faultIn(entry, max - 1) : numberFault(entry);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
  for (const key in value) {
    const member = (value as Readonly<Record<string, unknown>>)[key];
    const fault = typeof member === "object" && member !== null ? faultIn(member, max - 1) : numberFault(member);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

const numberFault = (value: unknown) =>
  value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY ? "number" : undefined;

/** The levels of text that is parsed here: far more than any text has, and far less than ends the stack. */
const deepest = 1_000;

/**
 * Parses JSON. A number that JSON.parse would read as Infinity, and so JSON.stringify write as null, is an error.
 *
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!/\d[eE]\+?\d{3}|\d{309}/.test(text) || jsonFault(value, deepest) !== "number") return value;
  throw new SyntaxError("it has a number beyond 1.8e308, which is more than a number can hold");
}
