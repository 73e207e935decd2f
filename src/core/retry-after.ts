import { ToolkitError } from "./error.ts";

/** How long whoever refused something wants to be left alone, in milliseconds; 0 where it does not say. */
export function retryAfterMs(error: unknown): number {
  if (ToolkitError.is(error, "RATE_LIMITED")) return error.details.retryAfterMs;
  return (ToolkitError.is(error, "UNAVAILABLE") ? error.details.retryInMs : undefined) ?? 0;
}
