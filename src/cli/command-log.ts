import { inspect } from "node:util";
import { ToolkitError } from "../core/error.ts";
import type { Logger } from "../core/session.ts";
import { isRecord } from "../lib/value.ts";
import { visible, visibleLines } from "../lib/visible-text.ts";
import type { Style, Terminal } from "./terminal.ts";

/** A logger that writes to stderr. @param least - the least level that is written */
export function loggerOf(terminal: Terminal, least: "debug" | "warn"): Logger {
  const line = (style: Style) => (message: string, details?: unknown) => {
    const error = isRecord(details) ? details.error : undefined;
    const isSaid = details === undefined || ((least === "warn" || isOfFile(error)) && says(message, error));
    const rest = isSaid ? "" : ` ${inspect(details, { depth: 3, breakLength: Number.POSITIVE_INFINITY })}`;
    terminal.note(isSaid ? shownMessage(message, error) : visible(`${message}${rest}`), style);
  };
  const quiet = () => undefined;
  const low = least === "debug" ? line("dim") : quiet;
  return { debug: low, info: low, warn: line("yellow"), error: line("red") };
}

/**
 * A message as it is shown: on one line, so that it forges no other one. The mistakes of a file of the operator have a line each: each was made
 * visible where it was found.
 */
export function shownMessage(message: string, error: unknown): string {
  if (!isOfFile(error)) return visible(message);
  // A toolkit logs them on one line.
  return visibleLines(message.replace(visible(error.message), () => error.message));
}

/** True for the mistakes of a file of the operator: its places say all, and the stack nothing. */
function isOfFile(error: unknown): error is ToolkitError {
  return ToolkitError.is(error, "INVALID_MANIFEST") || ToolkitError.is(error, "INVALID_WORKFLOW");
}

/** True where a message has all that an error says: its stack is for those who ask for everything. */
function says(message: string, error: unknown): boolean {
  return error instanceof Error && [error.message, visible(error.message)].some((said) => message.includes(said));
}
