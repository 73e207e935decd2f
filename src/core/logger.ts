import { runDetached } from "../lib/promise.ts";
import { visible } from "../lib/visible-text.ts";
import { messageOf } from "./error.ts";
import type { LogEntry, Logger, LogLevel, Session } from "./session.ts";

const nothing = () => undefined;

/** The logger of a toolkit that was given none: the library never writes to the console by itself. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/**
 * The user's logger, with its own errors swallowed: there is no one left to report them to, and a call must not fail for them. It gets each
 * message on one line, so that no text of a stranger forges another.
 */
export function steadyLogger(logger: Logger): Logger {
  const detailsFirst = isPino(logger);
  const write = (method: keyof Logger, message: string, details: unknown): unknown => {
    if (details === undefined) return logger[method](message);
    return detailsFirst ? logger[method](details as string, message) : logger[method](message, details);
  };
  const steady = (method: keyof Logger) => (message: string, details?: unknown) => {
    runDetached(() => write(method, visible(String(message)), details), nothing);
  };
  return { debug: steady("debug"), info: steady("info"), warn: steady("warn"), error: steady("error") };
}

/** True for pino and what is made like it: the details go first there, and would be lost behind the message. */
function isPino(logger: Logger): boolean {
  const { bindings, child } = logger as { readonly bindings?: unknown; readonly child?: unknown };
  return typeof bindings === "function" && typeof child === "function";
}

/** Sends a log message to the session's `log`, where it has one. An error in that goes to the logger and affects no call. */
export function logToSession(session: Session, entry: LogEntry, logger: Logger): void {
  runDetached(
    () => session.log?.(entry),
    (error) => logger.error(`The log of session ${session.id} failed: ${messageOf(error)}`, { error }),
  );
}

const levels = { debug: "debug", info: "info", warn: "warning", error: "error" } as const satisfies Record<
  keyof Logger,
  LogLevel
>;

/** A logger whose entries go to a session too, as those of the ref. */
export function sessionLogger(logger: Logger, session: Session, ref: string): Logger {
  const log = (method: keyof Logger) => (message: string, details?: unknown) => {
    logger[method](message, details);
    const data = details === undefined ? message : { message, details };
    logToSession(session, { level: levels[method], logger: ref, data }, logger);
  };
  return { debug: log("debug"), info: log("info"), warn: log("warn"), error: log("error") };
}
