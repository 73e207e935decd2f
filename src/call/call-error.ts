import { located, messageOf, ToolkitError } from "../core/error.ts";
import type { Phase } from "../core/error-catalog.ts";

const answered = new WeakSet<object>();

/** Marks the error with which a toolbox answered a call in progress: it is that answer's, not the error of the call that asked. */
export function toNestedError(thrown: unknown): unknown {
  if (ToolkitError.is(thrown)) answered.add(thrown);
  return thrown;
}

/** One more error that says the same, for another call that it is the answer of. */
export function copyOf(error: unknown): unknown {
  if (!ToolkitError.is(error)) return error;
  const { code, message, details, ref, phase, cause, stack } = error;
  return Object.assign(new ToolkitError(code, message, details, { ref, phase, cause }), { stack });
}

/**
 * Makes the error of a call from whatever was thrown inside it. An error that says itself what it is keeps its code; one that belongs
 * to another call, which this one made, is the cause of a `TOOL_FAILED`. Too deep is too deep for the whole chain.
 */
export function toCallError(ref: string, phase: Phase): (thrown: unknown) => ToolkitError {
  return (thrown) => {
    if (ToolkitError.is(thrown)) {
      if (thrown.code === "DEPTH_EXCEEDED") return thrown;
      if ((thrown.ref === undefined || thrown.ref === ref) && !answered.has(thrown)) return located(thrown, ref, phase);
    }
    return new ToolkitError(
      "TOOL_FAILED",
      `${ref} failed: ${messageOf(thrown)}`,
      {},
      { cause: thrown, ref, phase: "execute" },
    );
  };
}
