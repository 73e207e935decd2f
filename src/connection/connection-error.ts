import { messageOf, ToolkitError } from "../core/error.ts";
import type { Kind } from "../core/item.ts";
import { visible } from "../lib/visible-text.ts";

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
  const message = visible(`${what.replace(/\.$/, "")}${when}.`);
  return new ToolkitError("UNAVAILABLE", message, { namespace, retryInMs }, { cause, phase: "connect" });
}

/** The error of a connection whose server is connected, and has not listed some kinds yet. */
export function unlisted(
  { namespace }: { readonly namespace: string },
  missing: readonly Kind[],
): ToolkitError<"UNAVAILABLE"> {
  const message = `\`${namespace}\` has not listed its ${missing.map((kind) => `${kind}s`).join(" and ")} yet.`;
  return new ToolkitError("UNAVAILABLE", message, { namespace }, { phase: "connect" });
}

/** The error of a list that was read as far as its limit. */
export function listCut(label: string, kind: Kind, max: number): ToolkitError<"LIMIT_EXCEEDED"> {
  const message = `${label} lists more than ${max} ${kind}s, or its pages have no end; what came first is kept.`;
  return new ToolkitError("LIMIT_EXCEEDED", message, { limit: "maxListSize", max });
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
  const message = visible(`${namespace} was given up after ${attempts} attempts: ${messageOf(cause)}`);
  return new ToolkitError("UNAVAILABLE", message, { namespace }, { cause, phase: "connect" });
}

/** The error of a request whose session ended without an answer. */
export function unanswered(
  code: "UNAVAILABLE" | "OUTCOME_UNKNOWN",
  namespace: string,
  cause: Error | undefined,
): ToolkitError<"UNAVAILABLE" | "OUTCOME_UNKNOWN"> {
  const why = cause === undefined ? "" : `: ${cause.message}`;
  const message = visible(`${namespace}: the connection ended, and the request was not answered${why}.`);
  return new ToolkitError(code, message, { namespace, connectionLost: true }, { cause });
}

/** The error with its message on one line: it may quote the server. */
export function onOneLine(error: ToolkitError): ToolkitError {
  const message = visible(error.message);
  if (message === error.message) return error;
  const { code, details, cause, ref, phase } = error;
  return new ToolkitError(code, message, details, { cause, ref, phase });
}

/** The error of a session, which knows no namespace, with that of its connection in the details and before the message. */
export function inNamespace(thrown: unknown, namespace: string, prefix = `${namespace}: `): unknown {
  if (!ToolkitError.is(thrown)) return thrown;
  const error = onOneLine(thrown);
  if (!ToolkitError.is(error, "UNAVAILABLE") && !ToolkitError.is(error, "OUTCOME_UNKNOWN")) return error;
  const { code, details, ref, phase } = error;
  if (details.namespace === namespace) return error;
  const options = { cause: error.cause ?? error, ref, phase };
  return new ToolkitError(code, `${prefix}${error.message}`, { ...details, namespace }, options);
}
