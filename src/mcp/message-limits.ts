import { ToolkitError } from "../core/error.ts";

/** A message that has, or would have, more bytes than it may. */
export function messageTooLarge(max: number, actual: number): ToolkitError<"LIMIT_EXCEEDED"> {
  return new ToolkitError(
    "LIMIT_EXCEEDED",
    `A message is larger than maxMessageBytes (${max}). Raise the limit, or ask the server for less at once.`,
    { limit: "maxMessageBytes", max, actual },
  );
}

/** A message with more levels than it may have. */
export function messageTooDeep(max: number): ToolkitError<"LIMIT_EXCEEDED"> {
  return new ToolkitError(
    "LIMIT_EXCEEDED",
    `A message is nested deeper than maxNestingDepth (${max}). Raise the limit, or ask the server for something flatter.`,
    { limit: "maxNestingDepth", max },
  );
}
