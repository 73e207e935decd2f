import { ToolkitError } from "./error.ts";

/** The wait that a refusal asks for before the next attempt, in milliseconds; 0 where it names none. */
export function retryAfterMs(error: unknown): number {
  if (ToolkitError.is(error, "RATE_LIMITED")) return error.details.retryAfterMs;
  return (ToolkitError.is(error, "UNAVAILABLE") ? error.details.retryInMs : undefined) ?? 0;
}
