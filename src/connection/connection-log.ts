import type { Connector } from "../core/connector.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { logToSession } from "../core/logger.ts";
import { operatorError } from "../core/server-output.ts";
import type { LogEntry, Logger, LogLevel, Session } from "../core/session.ts";
import { mapTexts, visible } from "../lib/visible-text.ts";

/** The most warnings that are kept; the oldest go first. */
const maxWarnings = 100;
/** The most messages that are remembered as logged: a server can make up any number. */
const maxLogged = 1_000;

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

/** A first attempt that takes long. */
export interface SlowAttempt {
  readonly connector: Pick<Connector, "label" | "startHint">;
  /** The output of its child process; undefined where there is none. */
  readonly stderr: string | undefined;
  readonly elapsedMs: number;
}

/** The log of one connection: what it reports to the operator, each thing once, and what its server logs. */
export class ConnectionLog {
  readonly #logger: Logger;
  readonly #connection: { readonly namespace: string };
  readonly #warnings = new Set<string>();
  readonly #logged = new Set<string>();
  /** The last reason given for not being connected. */
  #lastReason: string | undefined;

  constructor(logger: Logger, connection: { readonly namespace: string }) {
    this.#logger = logger;
    this.#connection = connection;
  }

  /** Everything warned of, the oldest first. */
  get warnings(): readonly string[] {
    return [...this.#warnings];
  }

  /** Logs and keeps a warning, unless it is kept already. */
  warn(text: string): void {
    const message = visible(text);
    if (this.#warnings.has(message)) return;
    const [oldest] = this.#warnings;
    if (this.#warnings.size >= maxWarnings && oldest !== undefined) this.#warnings.delete(oldest);
    this.#warnings.add(message);
    this.#logger.warn(`${this.#connection.namespace}: ${message}`);
  }

  /** Logs a warning that is kept elsewhere, once. */
  warnOnce(message: string): void {
    if (this.#logged.has(message)) return;
    if (this.#logged.size >= maxLogged) this.#logged.clear();
    this.#logged.add(message);
    this.#logger.warn(`${this.#connection.namespace}: ${message}`);
  }

  /**
   * Logs that its first attempt takes long: as a warning where a child process is silent meanwhile.
   *
   * @returns what it may be waiting for, as far as that is known
   */
  connecting({ connector, stderr, elapsedMs }: SlowAttempt): string | undefined {
    const said = stderr?.trim().split("\n").at(-1);
    const hints = [
      ...(said === undefined
        ? []
        : [said === "" ? "Its process has written nothing yet." : `Its process wrote: ${said}`]),
      connector.startHint?.(),
    ].filter((hint) => hint !== undefined);
    const hint = hints.length === 0 ? undefined : visible(hints.join(" "));
    const message = `${this.#connection.namespace}: still connecting to ${visible(connector.label)}, ${Math.round(elapsedMs / 1_000)} s so far.`;
    this.#logger[said === "" ? "warn" : "info"](hint === undefined ? message : `${message} ${hint}`);
    return hint;
  }

  /** Logs that it was lost or an attempt failed. The same reason again is for debugging only: the connection has the whole error. */
  disconnected(error: Error, attempts: number): void {
    const details = { attempts, ...(ToolkitError.is(error) ? { code: error.code } : {}) };
    const { message } = operatorError(error);
    const method = this.#lastReason === message ? "debug" : "warn";
    this.#lastReason = message;
    this.#logger[method](`${this.#connection.namespace} is not connected: ${message}`, details);
  }

  /** Logs that it is connected, where it was logged that it is not. */
  connected(label: string): void {
    if (this.#lastReason !== undefined) this.#logger.info(`${this.#connection.namespace} is connected to ${label}`);
    this.#lastReason = undefined;
  }

  /** Logs a failure that no caller awaits. */
  failed(error: unknown): void {
    this.#logger.error(`${this.#connection.namespace}: ${messageOf(error)}`, { error });
  }

  /** Passes a log message of the server on to the operator's logger, and to the sessions that are calling. */
  server({ level, data: said, logger: name }: LogEntry, sessions: Iterable<Session>): void {
    const { namespace } = this.#connection;
    const logger = name === undefined ? namespace : `${namespace}/${visible(name)}`;
    const data = mapTexts(said, visible);
    const message = typeof data === "string" ? data : messageOf(data);
    this.#logger[methods[level] ?? "info"](`${logger}: ${message}`, typeof data === "string" ? undefined : data);
    for (const session of sessions) logToSession(session, { level, logger, data }, this.#logger);
  }
}
