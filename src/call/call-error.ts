import { located, messageOf, ToolkitError } from "../core/error.ts";
import type { Phase } from "../core/error-catalog.ts";
import { errorText } from "./trace/attributes.ts";

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

/** A line of the log. */
export interface FailureLine {
  readonly level: "warn" | "debug";
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** A call that failed. */
export interface FailedCall {
  readonly action: string;
  readonly key: string;
  /** It was made by another call. */
  readonly isNested: boolean;
  /** A message that may quote content is logged too. */
  readonly recordContent: boolean;
}

/**
 * The line of the log for a call that failed: a warning, or for debugging where it is the call of another one, was aborted by its caller or
 * ended with the toolkit. Of an error about values it names the places. Undefined for a call that waits.
 */
export function failureLine(call: FailedCall, thrown: unknown): FailureLine | undefined {
  const { action, key, isNested, recordContent } = call;
  if (!ToolkitError.is(thrown))
    return { level: "debug", message: `The ${action} of ${key} was aborted.`, details: { ref: key } };
  const { code, phase, ref = key } = thrown;
  if (code === "PENDING") return undefined;
  const places =
    ToolkitError.is(thrown, "INVALID_INPUT") || ToolkitError.is(thrown, "INVALID_OUTPUT")
      ? ` At ${thrown.details.issues.map(({ pointer }) => JSON.stringify(pointer)).join(", ")}.`
      : "";
  return {
    level: isNested || code === "CLOSED" ? "debug" : "warn",
    message: `The ${action} of ${ref} failed: ${code}: ${errorText(thrown, recordContent)}${recordContent ? "" : places}`,
    details: { code, ref, ...(phase === undefined ? {} : { phase }) },
  };
}
