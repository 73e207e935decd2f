import { ToolkitError } from "./error.ts";

/**
 * As the method of that name, for what a caller gave as a signal.
 *
 * @throws the signal's reason; ToolkitError `INVALID_INPUT` for what is no AbortSignal
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  if (typeof signal?.throwIfAborted === "function") {
    signal.throwIfAborted();
    return;
  }
  const message = "must be an AbortSignal: of a controller, give its signal";
  throw new ToolkitError("INVALID_INPUT", `The option signal ${message}.`, {
    issues: [{ pointer: "/signal", message }],
  });
}
