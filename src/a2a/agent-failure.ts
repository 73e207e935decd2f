import { messageOf, ToolkitError } from "../core/error.ts";
import { isRecord } from "../lib/value.ts";
import type { Redactor } from "../mcp/redact.ts";
import { failureOf } from "../mcp/request-failure.ts";
import { ConnectionLostError, sentence } from "../mcp/rpc/rpc-error.ts";
import { HttpStatusError, NotMcpError } from "../mcp/transport/http/http-error.ts";

/** The agent whose request failed, for the message of the error. */
export interface FailingAgent {
  /** The connector, without secrets. */
  readonly label: string;
  /** Its own name. Undefined before its card is there. */
  readonly agent: string | undefined;
  readonly redactor: Redactor;
}

const quotedLength = 300;
/** Statuses of a gateway, or of a server that is too busy: the task goes on behind them. */
const passingStatuses: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** True where the way to the agent is broken, and the agent itself said nothing. */
export function isBreak(error: unknown): boolean {
  if (error instanceof HttpStatusError) return passingStatuses.has(error.status);
  // The limit of one request.
  if (error instanceof DOMException && error.name === "TimeoutError") return true;
  return error instanceof ConnectionLostError || error instanceof NotMcpError;
}

/** True where a request surely never left, so that it may be sent again. */
export function neverSent(error: unknown): boolean {
  return error instanceof ConnectionLostError && !error.sent;
}

/** The reason of an error of the protocol, such as `TASK_NOT_FOUND`; undefined for any other error. */
export function protocolReason(error: unknown): string | undefined {
  const { reason } = protocolError(error) ?? {};
  return typeof reason === "string" ? reason : undefined;
}

/** Errors of the SDK are known by their reason: it ships several copies of their classes. An error in a stream has the other as its cause. */
function protocolError(error: unknown): Readonly<Record<string, unknown>> | undefined {
  for (const each of [error, error instanceof Error ? error.cause : undefined])
    if (each instanceof Error && "reason" in each && isRecord(each)) return each;
  return undefined;
}

/**
 * The error of a request as a ToolkitError.
 *
 * @param what - the request, such as `the message`
 * @param kind - a message may do something, and must not be sent again where it may have arrived. An error about a card is for all callers: the
 *   words of the agent are not for them
 */
export function agentFailure(
  error: unknown,
  { label, agent, redactor }: FailingAgent,
  what: string,
  kind: "message" | "read" | "card",
): unknown {
  const isRepeatable = kind !== "message";
  const isOfCaller = kind !== "card";
  const known = protocolError(error);
  const isUnread = ToolkitError.is(error, "REMOTE_ERROR") && error.details.server === "";
  if (ToolkitError.is(error) && !isUnread) return error;
  if (isBreak(error) || error instanceof HttpStatusError) {
    return failureOf(error, { what, label, redactor, server: agent, repeatable: isRepeatable, isOfCaller });
  }
  const server = agent ?? label;
  const said = redactor.text(messageOf(known ?? error)).slice(0, quotedLength);
  const cause = redactor.error(error);
  // Whatever it did, it did not say so.
  if (known === undefined && !isRepeatable)
    return unknownTask(
      "",
      { label },
      `${server} answered ${what} with something that cannot be read: ${sentence(said)}`,
      cause,
    );
  const code = known?.envelopeCode ?? known?.statusCode;
  const details = typeof code === "number" ? { server, rpcCode: code } : { server };
  const message = `${server} answered ${what} with an error${typeof code === "number" ? ` (${code})` : ""}: ${said}`;
  return new ToolkitError("REMOTE_ERROR", message, details, { cause });
}

/** The error of a task of which nothing more can be learnt. */
export function unknownTask(
  taskId: string,
  { label }: Pick<FailingAgent, "label">,
  why: string,
  cause?: unknown,
): ToolkitError {
  const id = taskId === "" ? "a task" : `the task ${taskId}`;
  const message = `The outcome of ${id} at ${label} is unknown: ${why} It may have run: ask the agent before you call again.`;
  return new ToolkitError("OUTCOME_UNKNOWN", message, { namespace: label }, { cause });
}
