import { inspect } from "node:util";
import { ToolkitError } from "../core/error.ts";
import type { Logger } from "../core/session.ts";
import { isRecord } from "../lib/value.ts";
import { visible, visibleLines } from "../lib/visible-text.ts";
import type { Style, Terminal } from "./terminal.ts";

/** A logger that writes to stderr. @param least - the least level that is written */
export function loggerOf(terminal: Terminal, least: "debug" | "warn"): Logger {
  const line = (style: Style) => (message: string, details?: unknown) => {
    const isSaid = details === undefined || (least === "warn" && isRecord(details) && says(message, details.error));
    const rest = isSaid ? "" : ` ${inspect(details, { depth: 3, breakLength: Number.POSITIVE_INFINITY })}`;
    const error = isRecord(details) ? details.error : undefined;
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
  const hasLines = ToolkitError.is(error, "INVALID_MANIFEST") || ToolkitError.is(error, "INVALID_WORKFLOW");
  return hasLines ? visibleLines(message) : visible(message);
}

/** True where a message has all that an error says: its stack is for those who ask for everything. */
function says(message: string, error: unknown): boolean {
  return error instanceof Error && message.includes(error.message);
}
