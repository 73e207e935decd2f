import { clientHeaders, type HttpRequest, HttpSendError } from "./client-exchange.ts";
import { EgressError, type EgressPolicy } from "./egress-policy.ts";
import { clientOf, toResponse } from "./node-fetch.ts";
import { type ResponseHead, redirected } from "./redirect.ts";

type Fetch = typeof globalThis.fetch;

/** The most redirects of a request whose URL a stranger chose. */
const maxGuardedRedirects = 5;

/**
 * A `fetch` for requests whose URL a stranger chose: a policy decides on each, and on each redirect. Of ours the addresses that a socket
 * connects to are judged; a `fetch` that is not ours, and a proxy, resolve names themselves, so that the URL is all there is to judge.
 *
 * @throws through the function it gives, as `fetch` does; EgressError for what the policy refuses, before anything is sent there. No error
 *   quotes an answer.
 */
export function guardedFetch(fetch: Fetch, policy: EgressPolicy): Fetch {
  const client = clientOf(fetch)?.guarded(policy);
  const send = async (request: HttpRequest, hops: number): Promise<Response> => {
    const { url, method, headers, body = null, signal = null } = request;
    if (client !== undefined) {
      const sent = { ...request, headers: { accept: "*/*", ...clientHeaders, ...headers } };
      return toResponse(await client.send(sent), request, hops > 0);
    }
    policy.assertPermitted(url);
    return fetch(url, {
      method,
      headers,
      body: body as NonNullable<RequestInit["body"]> | null,
      signal,
      redirect: "manual",
    });
  };
  return async (input, init = {}) => {
    const signal = init.signal ?? (input instanceof Request ? input.signal : undefined);
    try {
      const url = new URL(input instanceof Request ? input.url : input);
      // The platform's own error quotes the URL.
      policy.assertPermitted(url);
      const request = new Request(input, init);
      const { method, headers } = request;
      const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
      const first = { url, method, headers: Object.fromEntries(headers), body, signal };
      return await follow(send, first, request.redirect);
    } catch (cause) {
      if (signal?.aborted === true) throw signal.reason;
      dropAnswer(cause);
      if (cause instanceof TypeError) throw EgressError.in(cause) ?? cause;
      const reason = cause instanceof HttpSendError ? cause.cause : cause;
      throw EgressError.in(reason) ?? new TypeError("fetch failed", { cause: reason });
    }
  };
}

async function follow(
  send: (request: HttpRequest, hops: number) => Promise<Response>,
  first: HttpRequest,
  redirect: RequestInit["redirect"],
): Promise<Response> {
  let request = first;
  for (let hops = 0; ; hops += 1) {
    const response = await send(request, hops);
    const head = headOf(response);
    const next = redirect === "manual" ? undefined : redirected(request, head);
    if (next === undefined) return response;
    head.discard();
    if (redirect === "error") throw new Error("the answer is a redirect, which is not followed");
    if (hops === maxGuardedRedirects) throw new Error(`more than ${maxGuardedRedirects} redirects`);
    request = next;
  }
}

/** The parser's error for an answer that is no HTTP holds its bytes: another service's, where a stranger chose the address. */
function dropAnswer(error: unknown): void {
  let at = error;
  for (let depth = 0; depth < 8 && at instanceof Error; depth += 1) {
    if ("data" in at) Object.assign(at, { data: undefined });
    at = at.cause;
  }
}

function headOf({ status, headers, body }: Response): ResponseHead {
  return {
    status,
    header: (name) => headers.get(name) ?? undefined,
    discard: () => void body?.cancel().catch(() => {}),
  };
}
