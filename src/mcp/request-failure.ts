import { ToolkitError } from "../core/error.ts";
import { operatorError, withServerOutput } from "../core/server-output.ts";
import { excerpt } from "../lib/excerpt.ts";
import type { Redactor } from "./redact.ts";
import { ConnectionLostError, RpcError, rpcCodes, sentence } from "./rpc/rpc-error.ts";
import { HttpStatusError, NotMcpError } from "./transport/http/http-error.ts";

/** The request that failed, for the message and the details of the error. */
export interface FailedRequest {
  /** The method and its target, such as `tools/call echo`. */
  readonly what: string;
  /** The connector, without secrets. */
  readonly label: string;
  /** Redacts the answer of the server. */
  readonly redactor: Redactor;
  /** The name the server gave itself; undefined before the handshake. */
  readonly server: string | undefined;
  /** True where it changes nothing at the server, so that it may be asked again even if it may have arrived. */
  readonly repeatable: boolean;
  /**
   * True where a caller made it, who gets what the server answered. The error of another request, such as that of a list, is part of what
   * other callers get: there only the operator does.
   */
  readonly isOfCaller: boolean;
  /** The URI that was read, if any. */
  readonly uri?: string | undefined;
}

const defaultRetryAfterMs = 1_000;
const quotedLength = 300;

/** Turns the error of a request into a ToolkitError. One that is neither ours nor the transport's is left as it is. */
export function failureOf(error: unknown, request: FailedRequest): unknown {
  if (error instanceof RpcError) return remoteError(error, request);
  if (error instanceof HttpStatusError) return statusFailure(error, request);
  if (error instanceof ConnectionLostError) {
    return error.sent && !request.repeatable ? unknownOutcome(error, request) : unavailable(error, request);
  }
  // The sender of that answer, a gateway or a server that shuts down, got the request and may have passed it on.
  if (error instanceof NotMcpError)
    return request.repeatable ? unavailable(error, request) : unknownOutcome(error, request);
  return error;
}

function remoteError(answered: RpcError, request: FailedRequest): ToolkitError {
  const { what, label, redactor, server, uri, isOfCaller } = request;
  const { code, message: said } = answered;
  const error = new RpcError({ code, message: redactor.text(said), data: redactor.value(answered.data) });
  if (!isOfCaller) return withheldError(error, request);
  const name = server ?? label;
  // A read has no parameter but its URI: some servers call an unknown one invalid.
  if (uri !== undefined && (error.code === rpcCodes.resourceNotFound || error.code === rpcCodes.invalidParams)) {
    const message = `${name} has no resource ${uri}: ${error.message}`;
    return new ToolkitError("NOT_FOUND", message, { key: uri, suggestions: [] }, { cause: error });
  }
  return new ToolkitError(
    "REMOTE_ERROR",
    `${name} answered ${what} with an error (${error.code}): ${error.message}`,
    { server: name, rpcCode: error.code, ...(error.data === undefined ? {} : { data: error.data }) },
    { cause: error },
  );
}

/** The error with its code alone; what the server says is for the operator. */
function withheldError(
  { code, message, data }: RpcError,
  { what, label, server = label }: FailedRequest,
): ToolkitError {
  const shown = data === undefined ? "" : ` ${excerpt(data, { isSecret: () => false, maxLength: quotedLength })}`;
  const cause = withServerOutput(new RpcError({ code }), `it said: ${message.slice(0, quotedLength)}${shown}`);
  const said = `${server} answered ${what} with an error (${code}).`;
  return new ToolkitError("REMOTE_ERROR", said, { server, rpcCode: code }, { cause });
}

function statusFailure(error: HttpStatusError, request: FailedRequest): ToolkitError {
  const { what, label, server } = request;
  const { status } = error;
  const cause = { cause: error };
  const said = `${label} ${messageFor(request, error)}`;
  if (status === 401 || status === 403) {
    const need = status === 401 ? `wants credentials: ${neededBy(error)}` : "refuses these credentials";
    return new ToolkitError(
      "UNAUTHORIZED",
      `${label} ${need}. It ${messageFor(request, error)}`,
      { target: label },
      cause,
    );
  }
  if (status === 429) {
    const retryAfterMs = error.retryAfterMs ?? defaultRetryAfterMs;
    return new ToolkitError("RATE_LIMITED", `${said}. Call again in ${retryAfterMs} ms.`, { retryAfterMs }, cause);
  }
  // A server that is not there did not run it; a gateway that waited in vain cannot know.
  if (status === 503) return unavailable(error, request);
  if (status === 502 || status === 504) {
    return request.repeatable ? unavailable(error, request) : unknownOutcome(error, request);
  }
  return new ToolkitError(
    "REMOTE_ERROR",
    `${what} failed: ${sentence(said)}`,
    { server: server ?? label, data: { status } },
    cause,
  );
}

/** The message of the error; for a caller with the answer to its request, and never with what a child process printed. */
function messageFor({ isOfCaller }: FailedRequest, error: Error): string {
  const { message } = isOfCaller && error instanceof HttpStatusError ? operatorError(error) : error;
  return message.replace(/\.$/, "");
}

/** The option that meets the challenge of a server. */
function neededBy({ challenge = "" }: HttpStatusError): string {
  const scope = /^Bearer\b.*\bscope="([^"]*)"/i.exec(challenge)?.[1];
  if (scope === undefined && !/^Bearer\b.*\bresource_metadata=/i.test(challenge)) {
    return "give headers, such as Authorization";
  }
  return `give auth, such as oauth()${scope === undefined ? "" : ` (scope "${scope}")`}, or headers, such as Authorization`;
}

function unavailable(error: Error, request: FailedRequest): ToolkitError {
  const { what, label } = request;
  const retryInMs = error instanceof HttpStatusError ? error.retryAfterMs : undefined;
  const details = { namespace: label, ...(retryInMs === undefined ? {} : { retryInMs }), ...lossOf(error) };
  return new ToolkitError(
    "UNAVAILABLE",
    `${label} gave no answer to ${what}: ${sentence(messageFor(request, error))}`,
    details,
    {
      cause: error,
    },
  );
}

function unknownOutcome(error: Error, request: FailedRequest): ToolkitError {
  const { what, label } = request;
  return new ToolkitError(
    "OUTCOME_UNKNOWN",
    `${what} was sent to ${label} and its answer was lost: ${sentence(messageFor(request, error))} It may have run: check before you call again.`,
    { namespace: label, ...lossOf(error) },
    { cause: error },
  );
}

function lossOf(error: Error): { readonly connectionLost?: true } {
  return error instanceof ConnectionLostError ? { connectionLost: true } : {};
}
