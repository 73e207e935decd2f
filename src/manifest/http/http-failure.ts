import { STATUS_CODES } from "node:http";
import { secretKeyTest } from "../../call/trace/secret-keys.ts";
import { egressDenied } from "../../core/egress.ts";
import { ToolkitError } from "../../core/error.ts";
import { withServerOutput } from "../../core/server-output.ts";
import { excerpt } from "../../lib/excerpt.ts";
import { type HttpResponse, HttpSendError } from "../../lib/fetch/client-exchange.ts";
import { EgressError } from "../../lib/fetch/egress-policy.ts";
import { isDown, reasonOf, retryAfterMs } from "../../lib/fetch/send-failure.ts";
import { maskedText, partsOf } from "../../lib/secret-forms.ts";
import type { HttpOperation } from "./http-operation.ts";

const quotedLength = 300;
/** So much of the body of an error is read. */
const maxErrorBytes = 16_384;
const defaultRetryAfterMs = 1_000;
/** Answers of those between the client and the service, which say nothing of the service itself; and of one that is not there. */
const passingStatuses: ReadonlySet<number> = new Set([408, 502, 503, 504]);

/** A request, for the message of its error. */
export interface OperationRequest {
  readonly operation: HttpOperation;
  /** Of the last of its redirects. */
  readonly url: URL;
  /** True where the service answered it once, be it with a redirect. */
  readonly isAnswered: boolean;
}

/** The error for a request that has no answer, or one that broke off. One that is a ToolkitError is left as it is. */
export function sendFailure(error: unknown, request: OperationRequest): ToolkitError {
  if (ToolkitError.is(error)) return error;
  const refusal = EgressError.in(error instanceof HttpSendError ? error.cause : error);
  if (refusal !== undefined) return egressDenied(refusal);
  const thrown = error instanceof HttpSendError ? error.cause : error;
  const isUnsent = !request.isAnswered && ((error instanceof HttpSendError && !error.sent) || isDown(thrown));
  const reason = masked(reasonOf(thrown), request.operation).replace(/\.$/, "");
  // The error of the parser of HTTP holds the bytes of the answer.
  const { code } = thrown as { readonly code?: unknown };
  const cause = Object.assign(new Error(reason), typeof code === "string" ? { code } : {});
  return lostAnswer(request, { isUnsent, why: reason, cause });
}

/** The error for an answer whose status is no success. Its body is read, as far as the operator is shown of it. */
export async function statusFailure(response: HttpResponse, request: OperationRequest): Promise<ToolkitError> {
  const { status } = response;
  const { operation, url } = request;
  const retryInMs = retryAfterMs(response.header("retry-after"), Date.now());
  const answered = `answered ${`${status} ${STATUS_CODES[status] ?? ""}`.trim()}`;
  const said = quoteOf(await startOf(response), operation);
  const cause = withServerOutput(new Error(answered), said === "" ? undefined : `it said: ${said}`);
  const message = `${whatOf(request)} ${answered}.`;
  if (status === 401 || status === 403) {
    const remedy =
      status === 401 ? "Give the credentials that it wants in the manifest" : "It refuses these credentials";
    return new ToolkitError("UNAUTHORIZED", `${message} ${remedy}.`, { target: url.origin }, { cause });
  }
  if (status === 429) {
    const wait = retryInMs ?? defaultRetryAfterMs;
    return new ToolkitError("RATE_LIMITED", `${message} Call again in ${wait} ms.`, { retryAfterMs: wait }, { cause });
  }
  if (passingStatuses.has(status)) return lostAnswer(request, { isUnsent: false, why: answered, cause, retryInMs });
  return new ToolkitError("REMOTE_ERROR", message, { server: url.host, data: { status } }, { cause });
}

interface LostAnswer {
  readonly isUnsent: boolean;
  readonly why: string;
  readonly cause: Error;
  readonly retryInMs?: number | undefined;
}

function lostAnswer(request: OperationRequest, { isUnsent, why, cause, retryInMs }: LostAnswer): ToolkitError {
  const what = whatOf(request);
  const namespace = request.url.host;
  if (isUnsent || request.operation.isRepeatable) {
    const details = { namespace, ...(retryInMs === undefined ? {} : { retryInMs }) };
    return new ToolkitError("UNAVAILABLE", `${what} has no answer: ${why}.`, details, { cause });
  }
  const message = `${what} was sent, and its answer was lost: ${why}. It may have run: check before you call again.`;
  return new ToolkitError("OUTCOME_UNKNOWN", message, { namespace }, { cause });
}

/** The method and origin of a request: its path and query may hold arguments. */
export function whatOf({ operation, url }: OperationRequest): string {
  return `${operation.method} ${masked(url.origin, operation)}`;
}

async function startOf(response: HttpResponse): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let left = maxErrorBytes;
  try {
    await response.read((chunk) => {
      text += decoder.decode(chunk.subarray(0, left), { stream: true });
      left -= chunk.length;
      if (left < 0) throw new Error("the rest is not read");
    });
  } catch {
    // The part that came says enough.
  }
  return text;
}

/** The beginning of the body of an error, secrets masked; empty for a page. */
function quoteOf(text: string, operation: HttpOperation): string {
  const said = masked(text, operation).trim();
  if (said.startsWith("<")) return "";
  if (!/^[[{]/.test(said)) return said.slice(0, quotedLength);
  const isSecret = secretKeyTest(operation.answer.redact);
  try {
    return excerpt(JSON.parse(said), { isSecret, maxLength: quotedLength });
  } catch {
    // A text that was cut is no JSON, so that its secrets cannot be told by their keys.
    return operation.answer.redact.length > 0 ? "" : said.slice(0, quotedLength);
  }
}

function masked(text: string, { secrets }: HttpOperation): string {
  return maskedText(text, secrets.flatMap(partsOf));
}
