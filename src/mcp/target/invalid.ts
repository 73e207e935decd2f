import { ToolkitError } from "../../core/error.ts";

/** An `INVALID_TARGET`. `target` must hold no secret. */
export function invalidTarget(message: string, target: string, variable?: string): ToolkitError<"INVALID_TARGET"> {
  return new ToolkitError("INVALID_TARGET", message, variable === undefined ? { target } : { target, variable });
}
