import { visible } from "../lib/visible-text.ts";
import { ToolkitError } from "./error.ts";

/** The output or answer of a server, by the error that it explains: neither JSON nor `inspect` of the error shows it. */
const outputs = new WeakMap<Error, string>();
const operatorErrors = new WeakMap<Error, Error>();

/**
 * The error itself, with what a server printed or answered kept beside it. A caller gets the error and never the output, which may be that of a
 * server of others and hold their data; `operatorError` joins both.
 */
export function withServerOutput<E extends Error>(error: E, output: string | undefined): E {
  if (output !== undefined) outputs.set(error, output);
  return error;
}

/** The error as the operator of a service sees it: its message ends with what the server printed, where an error in its chain of causes knows that. */
export function operatorError(error: Error): Error {
  const output = serverOutputOf(error);
  if (output === undefined) return error;
  const known = operatorErrors.get(error);
  if (known !== undefined) return known;
  const message = visible(`${error.message.replace(/\.$/, "")}; ${output}.`);
  const { cause } = error;
  const full = ToolkitError.is(error)
    ? new ToolkitError(error.code, message, error.details, { cause, ref: error.ref, phase: error.phase })
    : new Error(message, { cause: error });
  // The place is that of the error, not of this function.
  full.stack = `${full.name}: ${message}${framesOf(error)}`;
  operatorErrors.set(error, full);
  return full;
}

/** Causes may go round in a circle. */
const maxCauses = 16;

/** The output of a server, where the error or one in its chain of causes has it. */
export function serverOutputOf(error: unknown): string | undefined {
  let current: unknown = error;
  for (let depth = 0; depth < maxCauses && current instanceof Error; depth++) {
    const output = outputs.get(current);
    if (output !== undefined) return output;
    current = current.cause;
  }
  return undefined;
}

function framesOf({ stack = "" }: Error): string {
  const start = stack.indexOf("\n    at ");
  return start === -1 ? "" : stack.slice(start);
}
