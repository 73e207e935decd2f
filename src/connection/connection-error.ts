import { messageOf, ToolkitError } from "../core/error.ts";

/** A connection that cannot be used now. */
export interface Unavailable {
  readonly namespace: string;
  readonly label: string;
  /** Why its last attempt failed; undefined before the first has. */
  readonly cause: Error | undefined;
  /** Time until the next attempt. */
  readonly retryInMs: number | undefined;
}

/** The error of a connection that is not connected. */
export function unavailable({ namespace, label, cause, retryInMs }: Unavailable): ToolkitError<"UNAVAILABLE"> {
  const what =
    cause === undefined
      ? `\`${namespace}\` is still connecting to ${label}`
      : `\`${namespace}\` is not connected: ${messageOf(cause)}`;
  const when = retryInMs === undefined ? "" : `, next attempt in ${Math.ceil(retryInMs / 1000)} s`;
  const message = `${what.replace(/\.$/, "")}${when}.`;
  return new ToolkitError("UNAVAILABLE", message, { namespace, retryInMs }, { cause, phase: "connect" });
}

/** The error of a connection that has stopped for good: given up where there is a cause, else removed. */
export function stopped(
  namespace: string,
  attempts: number,
  cause: Error | undefined,
): ToolkitError<"UNAVAILABLE" | "CLOSED"> {
  if (cause === undefined) {
    return new ToolkitError("CLOSED", `${namespace} is closed: it was removed.`, { what: namespace });
  }
  const message = `${namespace} was given up after ${attempts} attempts: ${messageOf(cause)}`;
  return new ToolkitError("UNAVAILABLE", message, { namespace }, { cause, phase: "connect" });
}

/** The error of a request whose session ended without an answer. */
export function unanswered(
  code: "UNAVAILABLE" | "OUTCOME_UNKNOWN",
  namespace: string,
  cause: Error | undefined,
): ToolkitError<"UNAVAILABLE" | "OUTCOME_UNKNOWN"> {
  const why = cause === undefined ? "" : `: ${cause.message}`;
  const message = `${namespace}: the connection ended, and the request was not answered${why}.`;
  return new ToolkitError(code, message, { namespace, connectionLost: true }, { cause });
}

/** The error of a session, which knows no namespace, with that of its connection in the details and before the message. */
export function inNamespace(error: unknown, namespace: string, prefix = `${namespace}: `): unknown {
  if (!ToolkitError.is(error, "UNAVAILABLE") && !ToolkitError.is(error, "OUTCOME_UNKNOWN")) return error;
  const { code, details, ref, phase } = error;
  if (details.namespace === namespace) return error;
  const options = { cause: error.cause ?? error, ref, phase };
  return new ToolkitError(code, `${prefix}${error.message}`, { ...details, namespace }, options);
}
