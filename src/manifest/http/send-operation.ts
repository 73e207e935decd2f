import { callStateOf } from "../../call/call-port.ts";
import { clockOf } from "../../call/observers.ts";
import type { Trace } from "../../call/trace/trace.ts";
import { egressOf } from "../../core/egress.ts";
import type { CallContext } from "../../core/item.ts";
import type { Content } from "../../core/resource.ts";
import type { ToolAnnotations, ToolOptions } from "../../core/tool-options.ts";
import { withinDeadline } from "../../core/within-deadline.ts";
import type { ClientResponse, HttpRequest } from "../../lib/fetch/client-exchange.ts";
import type { EgressPolicy } from "../../lib/fetch/egress-policy.ts";
import { sendGuarded } from "../../lib/fetch/node-fetch.ts";
import { redirected } from "../../lib/fetch/redirect.ts";
import { isRecord } from "../../lib/value.ts";
import { answerContent } from "./http-answer.ts";
import { type OperationRequest, sendFailure, statusFailure, whatOf } from "./http-failure.ts";
import type { HttpOperation } from "./http-operation.ts";
import { headersForAnother, requestBody, requestHeaders } from "./request-message.ts";
import { requestUrl } from "./request-url.ts";

/** The most redirects of one request. */
const maxRedirects = 5;
/** The limit of the call comes so much later than that of the request. */
const graceMs = 5_000;
const repeatable: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE"]);

/** True for a method that comes to the same when it is sent twice (RFC 9110, section 9.2.2). */
export function isRepeatable(method: string): boolean {
  return repeatable.has(method);
}

/** The annotations that follow from a method. */
export function annotationsOf(method: string): ToolAnnotations {
  if (method === "GET" || method === "HEAD") return { readOnlyHint: true, idempotentHint: true, openWorldHint: true };
  const changes = ["PUT", "PATCH", "DELETE"].includes(method) ? { destructiveHint: true } : {};
  return { ...changes, ...(isRepeatable(method) ? { idempotentHint: true } : {}), openWorldHint: true };
}

/** The options of the tool of an operation: its limit of time, the retries that are safe for it, and what is not recorded. */
export function optionsOf({ timeoutMs, retry = {}, isRepeatable: isSafe, answer }: HttpOperation): ToolOptions {
  return {
    ...(timeoutMs === undefined ? {} : { timeoutMs: timeoutMs + graceMs }),
    retry: retry === false ? false : { onlyUnsent: !isSafe, ...retry },
    redact: answer.redact,
  };
}

/**
 * Sends the request of an operation, and reads the answer: JSON as JSON, text as text, any other as a file of its media type.
 *
 * @throws ToolkitError `INVALID_INPUT` for an argument that does not fit its place, `DENIED` for an address that the egress policy refuses,
 *   `UNAUTHORIZED`, `RATE_LIMITED`, `REMOTE_ERROR`, `UNAVAILABLE`, `OUTCOME_UNKNOWN`, `TIMEOUT`, `LIMIT_EXCEEDED`, `INVALID_OUTPUT`; the reason of an
 *   abort
 */
export async function sendOperation(operation: HttpOperation, input: unknown, context: CallContext): Promise<Content> {
  const given = isRecord(input) ? input : {};
  const body = await requestBody(operation, given);
  const url = requestUrl(operation, given);
  const state = callStateOf(context);
  const trace = state?.trace;
  const headers = { ...tracing(operation, trace), ...requestHeaders(operation, given, body?.type) };
  const policy = policyFor(operation, url, context);
  trace?.describe({
    "http.request.method": operation.method,
    "server.address": url.hostname.replace(/^\[(.*)\]$/, "$1"),
  });
  let last: OperationRequest = { operation, url, isAnswered: false };
  const limits = { what: whatOf(last), limit: "timeout_ms of the manifest", clock: clockOf(state) };
  const { timeoutMs = Number.POSITIVE_INFINITY } = operation;
  return withinDeadline({ ...limits, signal: context.signal, timeoutMs }, async (signal) => {
    try {
      const first = { url, method: operation.method, headers, body: body?.content, signal };
      const response = await follow(first, policy, (next) => {
        last = { operation, url: next, isAnswered: true };
      });
      last = { ...last, isAnswered: true };
      trace?.describe({ "http.response.status_code": response.status });
      if (response.status >= 200 && response.status < 300) return await answerContent(response, last);
      throw await statusFailure(response, last);
    } catch (error) {
      signal.throwIfAborted();
      throw sendFailure(error, last);
    }
  });
}

/** The headers by which the service knows whose part the request is. What else goes along, such as baggage, is for the operator's own services. */
function tracing({ url }: HttpOperation, trace: Trace | undefined): Record<string, string> {
  if (trace === undefined) return {};
  const carrier: Record<string, unknown> = trace.inject({});
  const names = url.isOwn ? Object.keys(carrier) : ["traceparent", "tracestate"];
  return Object.fromEntries(
    names.flatMap((name) => (carrier[name] === undefined ? [] : [[name, String(carrier[name])]])),
  );
}

const ownPolicies = new WeakMap<EgressPolicy, Map<string, EgressPolicy>>();

/** The policy of a request: the operator's own origin is permitted. Operations of one origin share it, and so their connections. */
function policyFor(operation: HttpOperation, { origin }: URL, context: CallContext): EgressPolicy {
  const egress = egressOf(context).policy;
  if (!operation.url.isOwn) return egress;
  const known = ownPolicies.get(egress) ?? new Map<string, EgressPolicy>();
  ownPolicies.set(egress, known);
  const policy = known.get(origin) ?? egress.allowing(origin);
  known.set(origin, policy);
  return policy;
}

/** Sends a request, and follows redirects: to another origin without headers of the manifest, and never with a body. */
async function follow(
  first: HttpRequest,
  policy: EgressPolicy,
  redirectedTo: (url: URL) => void,
): Promise<ClientResponse> {
  let request = first;
  for (let redirects = 0; ; redirects += 1) {
    const response = await sendGuarded(request, policy);
    const next = redirected(request, response);
    if (next === undefined) return response;
    response.discard();
    if (redirects === maxRedirects) throw new Error(`more than ${maxRedirects} redirects`);
    redirectedTo(next.url);
    const isElsewhere = next.url.origin !== request.url.origin;
    if (isElsewhere && next.body !== undefined)
      throw new Error(`the answer ${response.status} leads to another origin, and a body is not sent there`);
    request = isElsewhere ? { ...next, headers: headersForAnother(next.headers) } : next;
  }
}
