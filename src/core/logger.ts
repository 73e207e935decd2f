import { runDetached } from "../lib/promise.ts";
import { messageOf } from "./error.ts";
import type { LogEntry, Logger, Session } from "./session.ts";

const nothing = () => undefined;

/** Where nobody listens: the library never writes to the console by itself. */
export const silentLogger: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** The user's logger, with whatever it throws or rejects with swallowed: there is nobody left to tell, and a call must not fail for it. */
export function steadyLogger(logger: Logger): Logger {
  const steady = (method: keyof Logger) => (message: string, details?: unknown) => {
    runDetached(() => (details === undefined ? logger[method](message) : logger[method](message, details)), nothing);
  };
  return { debug: steady("debug"), info: steady("info"), warn: steady("warn"), error: steady("error") };
}

/** Tells a session what is logged during its calls, where it has a `log`. What that throws goes to the logger and harms no call. */
export function logToSession(session: Session, entry: LogEntry, logger: Logger): void {
  runDetached(
    () => session.log?.(entry),
    (error) => logger.error(`The log of session ${session.id} failed: ${messageOf(error)}`, { error }),
  );
}
