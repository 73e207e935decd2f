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
import { visible } from "../../lib/visible-text.ts";
import { essenceOf, isJsonType } from "../../resource/media-type.ts";
import type { HttpOperation } from "./http-operation.ts";

/** So many characters of the body of an error are shown to the operator, and to the caller. */
const quotedLength = 300;
const explainedLength = 1_000;
/** So much of the body of an error is read. */
const maxErrorBytes = 65_536;
/** Statuses by which a service refuses what it was asked for: its reason is what the caller needs to ask for something else. */
const refusals: ReadonlySet<number> = new Set([400, 404, 409, 410, 422]);
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
  const body = await startOf(response);
  const message = `${whatOf(request)} ${answered}.`;
  const details = { server: url.host, data: { status } };
  const reason = refusals.has(status) && isAtOwnOrigin(request) ? reasonFor(response, body, operation) : "";
  if (reason !== "")
    return new ToolkitError("REMOTE_ERROR", `${message} It said: ${reason}`, details, { cause: new Error(answered) });
  const said = quoteOf(body, operation);
  const cause = withServerOutput(new Error(answered), said === "" ? undefined : `it said: ${said}`);
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
  return new ToolkitError("REMOTE_ERROR", message, details, { cause });
}

/** True where the operator wrote the origin that answered, and no redirect led to another one. */
function isAtOwnOrigin({ operation, url }: OperationRequest): boolean {
  const { isOwn, origin } = operation.url;
  return isOwn && URL.parse(origin.join(""))?.origin === url.origin;
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

/** The beginning of a body for the caller, secrets masked: of JSON, or of a text. Empty for others, and for JSON that cannot be read. */
function reasonFor(response: HttpResponse, body: string, operation: HttpOperation): string {
  const type = essenceOf(response.header("content-type") ?? "");
  if (!isJsonType(type) && type !== "text/plain" && type !== "") return "";
  const said = masked(body, operation).trim();
  const value = jsonExcerpt(said, operation, explainedLength);
  const isPlain = !isJsonType(type) && !/^[[{<]/.test(said);
  return visible(value ?? (isPlain ? said : "")).slice(0, explainedLength);
}

/** The beginning of the body of an error for the operator, secrets masked; empty for a page. */
function quoteOf(body: string, operation: HttpOperation): string {
  const said = masked(body, operation).trim();
  if (said.startsWith("<")) return "";
  if (!/^[[{]/.test(said)) return said.slice(0, quotedLength);
  // A text that was cut is no JSON, so that its secrets cannot be told by their keys.
  const cut = operation.answer.redact.length > 0 ? "" : said.slice(0, quotedLength);
  return jsonExcerpt(said, operation, quotedLength) ?? cut;
}

/** The JSON of a text, with secrets masked by their keys; undefined for a text that is none. */
function jsonExcerpt(text: string, { answer }: HttpOperation, maxLength: number): string | undefined {
  try {
    return excerpt(JSON.parse(text), { isSecret: secretKeyTest(answer.redact), maxLength });
  } catch {
    return undefined;
  }
}

function masked(text: string, { secrets }: HttpOperation): string {
  return maskedText(text, secrets.flatMap(partsOf));
}
