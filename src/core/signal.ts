import { isRecord } from "../lib/value.ts";
import { ToolkitError } from "./error.ts";
import { shown } from "./options.ts";

/**
 * As the method of that name, for what a caller gave as a signal.
 *
 * @throws the signal's reason; ToolkitError `INVALID_INPUT` for what is no AbortSignal
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  assertSignal(signal);
  signal?.throwIfAborted();
}

/**
 * The signal of options, whether it has aborted or not.
 *
 * @throws ToolkitError `INVALID_INPUT` for what is no AbortSignal, and for options that are none
 */
export function readSignal(options: { readonly signal?: AbortSignal | undefined }): AbortSignal | undefined {
  if (!isRecord(options)) throw invalid("", `The options must be an object, and are ${shown(options)}.`);
  const { signal } = options;
  assertSignal(signal);
  return signal;
}

function assertSignal(signal: unknown): void {
  if (signal === undefined || (isRecord(signal) && typeof signal.throwIfAborted === "function")) return;
  const message = "must be an AbortSignal: of a controller, give its signal";
  throw invalid("/signal", `The option signal ${message}.`, message);
}

function invalid(pointer: string, text: string, message = text): ToolkitError<"INVALID_INPUT"> {
  return new ToolkitError("INVALID_INPUT", text, { issues: [{ pointer, message }] });
}
