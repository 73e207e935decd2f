import { inspect } from "node:util";
import type { Logger } from "../core/session.ts";
import { isRecord } from "../lib/value.ts";
import { visible } from "../lib/visible-text.ts";
import type { Style, Terminal } from "./terminal.ts";

/** A logger that writes to stderr. @param least - the least level that is written */
export function loggerOf(terminal: Terminal, least: "debug" | "warn"): Logger {
  const line = (style: Style) => (message: string, details?: unknown) => {
    const isSaid = details === undefined || (least === "warn" && isRecord(details) && says(message, details.error));
    const rest = isSaid ? "" : ` ${inspect(details, { depth: 3, breakLength: Number.POSITIVE_INFINITY })}`;
    terminal.note(visible(`${message}${rest}`), style);
  };
  const quiet = () => undefined;
  const low = least === "debug" ? line("dim") : quiet;
  return { debug: low, info: low, warn: line("yellow"), error: line("red") };
}

/** True where a message has all that an error says: its stack is for those who ask for everything. */
function says(message: string, error: unknown): boolean {
  return error instanceof Error && message.includes(error.message);
}
