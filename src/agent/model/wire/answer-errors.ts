import { APICallError } from "@ai-sdk/provider";
import { HttpSendError } from "../../../lib/fetch/client-exchange.ts";
import { isRecord } from "../../../lib/value.ts";

/** The head of an answer, for its error. */
export interface AnswerHead {
  /** Without its query, which may hold a key. */
  readonly url: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Limit of a quoted body, in characters. */
const maxQuoted = 300;

/** Errors in a stream have no status; those that a later request may not meet have one of these types. */
const transientType = /api_error|server_error|internal_error|overloaded|unavailable|rate_limit|timeout/i;

/** The error of a status that is no success. The message is that of the body where it has one, and never a page of HTML. */
export function statusError(head: AnswerHead, statusText: string, body: string): APICallError {
  const { status } = head;
  const said = messageOfBody(body) ?? quoted(body);
  const message = said ?? (statusText === "" ? `the server answered ${status}` : statusText);
  return callError(head, message, { status, body });
}

/** The error that a server reports in an answer that began as a success; undefined where the value is none. */
export function reportedError(value: unknown, head: AnswerHead, isErrorEvent: boolean): APICallError | undefined {
  if (!isRecord(value))
    return isErrorEvent ? callError(head, quoted(String(value)) ?? "the server failed", {}) : undefined;
  const { error } = value;
  // Some servers always have the field.
  if (!isErrorEvent && !error) return undefined;
  // vLLM sends its fields at the top, others inside `error`.
  const fields = isRecord(error) ? error : value;
  const status = statusIn(fields);
  const kinds = `${String(fields.type)} ${String(fields.code)} ${String(fields.status)}`;
  const isRetryable = status === undefined ? transientType.test(kinds) : undefined;
  const body = JSON.stringify(value).slice(0, maxQuoted * 10);
  return callError(head, messageIn(value) ?? "the server reported an error without a message", {
    status,
    body,
    isRetryable,
  });
}

/** The error of an answer that is not in the form of its API. It is not asked for again. */
export function formError(head: AnswerHead, why: string, body = ""): APICallError {
  const quote = quoted(body);
  return callError(head, quote === undefined ? why : `${why}: ${quote}`, {});
}

/** The error of a request without an answer. */
export function unreachedError(url: string, error: unknown): unknown {
  if (!(error instanceof HttpSendError)) return error;
  const { cause } = error;
  const reason = cause instanceof Error && cause.message !== "" ? cause.message : codeOf(cause);
  const message = `Cannot connect to API: ${reason}`;
  return new APICallError({ message, url, requestBodyValues: undefined, cause, isRetryable: true });
}

interface CallFacts {
  readonly status?: number | undefined;
  readonly body?: string | undefined;
  readonly isRetryable?: boolean | undefined;
}

function callError(head: AnswerHead, message: string, { status, body, isRetryable }: CallFacts): APICallError {
  return new APICallError({
    message,
    url: head.url,
    // The request stays out of every error.
    requestBodyValues: undefined,
    responseHeaders: { ...head.headers },
    ...(status === undefined ? {} : { statusCode: status }),
    ...(body === undefined ? {} : { responseBody: body }),
    ...(isRetryable === undefined ? {} : { isRetryable }),
  });
}

function messageOfBody(body: string): string | undefined {
  try {
    return messageIn(JSON.parse(body));
  } catch {
    return undefined;
  }
}

/** The message of an error in the forms of OpenAI, Ollama, FastAPI and proxies. */
function messageIn(value: unknown): string | undefined {
  const fields = Array.isArray(value) ? value[0] : value;
  if (!isRecord(fields)) return undefined;
  const { error, message, detail } = fields;
  const candidates = isRecord(error) ? [error.message, error.detail, error.code, error.type] : [error, message, detail];
  const text = candidates.find((each) => typeof each === "string" && each.trim() !== "");
  if (typeof text === "string") return text;
  return Array.isArray(detail) ? JSON.stringify(detail).slice(0, maxQuoted) : undefined;
}

/** The status among the fields of an error: OpenRouter and vLLM send it as a number. */
function statusIn({ code, status, status_code: statusCode }: Readonly<Record<string, unknown>>): number | undefined {
  const given = [status, statusCode, code]
    .map(Number)
    .find((each) => Number.isInteger(each) && each >= 400 && each < 600);
  return given;
}

/** The beginning of a text in one line; undefined for nothing, and for a page. */
function quoted(text: string): string | undefined {
  const line = text
    .slice(0, maxQuoted * 4)
    .replace(/\s+/g, " ")
    .trim();
  if (line === "" || line.startsWith("<")) return undefined;
  return line.length > maxQuoted ? `${line.slice(0, maxQuoted)}…` : line;
}

function codeOf(error: unknown): string {
  const { code } = (isRecord(error) ? error : {}) as { readonly code?: unknown };
  return typeof code === "string" ? code : "the connection failed";
}
