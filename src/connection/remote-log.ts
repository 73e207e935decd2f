import { messageOf } from "../core/error.ts";
import { logToSession } from "../core/logger.ts";
import type { LogEntry, Logger, LogLevel, Session } from "../core/session.ts";

const methods: Readonly<Record<LogLevel, keyof Logger>> = {
  debug: "debug",
  info: "info",
  notice: "info",
  warning: "warn",
  error: "error",
  critical: "error",
  alert: "error",
  emergency: "error",
};

/** Hands a server's log message to the operator's logger, under the namespace it came from, and to the sessions that are calling. */
export function logRemote(logger: Logger, namespace: string, entry: LogEntry, sessions: Iterable<Session>): void {
  const { level, data, logger: name } = entry;
  const where = name === undefined ? namespace : `${namespace}/${name}`;
  const message = typeof data === "string" ? data : messageOf(data);
  logger[methods[level] ?? "info"](`${where}: ${message}`, typeof data === "string" ? undefined : data);
  for (const session of sessions) logToSession(session, { level, logger: where, data }, logger);
}
