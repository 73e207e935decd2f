import { type ClientResponse, clientHeaders, type HttpRequest } from "./client-exchange.ts";
import type { EgressPolicy } from "./egress-policy.ts";
import { HttpClient, type NodeFetchOptions } from "./http-client.ts";
import { maxRedirects, redirected } from "./redirect.ts";

type Fetch = typeof globalThis.fetch;

const clients = new WeakMap<Fetch, HttpClient>();

/**
 * A `fetch` over connections of its own, by undici, for a fraction of the processor time of the platform's: a request that is a URL, plain
 * headers and a text or bytes bypasses the standard implementation. Whatever else there is, such as a `Request`, a form or a
 * stream, the platform's `fetch` sends over the same connections. Unused connections keep no process alive.
 *
 * It follows redirects (without credentials where they lead to another origin), aborts at every stage, streams bodies, and undoes gzip,
 * deflate and brotli. It has no cookies, no cache, no CORS, and no limit of its own for an answer that takes its time: that is the
 * signal's. A request that met a connection the server had closed is sent again where it surely was not sent, or changes nothing by
 * being sent twice.
 *
 * @throws through the function it gives, as `fetch` does: `TypeError` whose causes have Node's code (`ECONNREFUSED`, ...), or the
 *   signal's reason
 * @example
 * ```ts
 * toolkit.addConnector(mcpConnector("https://intranet.example/mcp", { fetch: nodeFetch({ tls: { ca } }) }));
 * ```
 */
export function nodeFetch(options: NodeFetchOptions = {}): Fetch {
  const client = new HttpClient(options);
  const fetch: Fetch = async (input, init = {}) => {
    const request = plainRequest(input, init);
    if (request === undefined) {
      client.waits(1);
      const answer = globalThis.fetch(input, Object.assign({ dispatcher: client.dispatcher }, init));
      return answer.finally(() => client.waits(-1));
    }
    try {
      const { response, request: last, redirects } = await followed(client, request, init.redirect ?? "follow");
      return toResponse(response, last, redirects > 0);
    } catch (cause) {
      if (init.signal?.aborted === true) throw init.signal.reason;
      throw cause instanceof TypeError ? cause : new TypeError("fetch failed", { cause });
    }
  };
  clients.set(fetch, client);
  return fetch;
}

let shared: Fetch | undefined;

/** The `nodeFetch` of all connectors and models that name none. */
export const defaultFetch: Fetch = (input, init) => sharedFetch()(input, init);

/**
 * Sends a request as `defaultFetch` does, and gives the answer without an object of the platform.
 *
 * @throws HttpSendError where there is no answer; the signal's reason
 */
export async function sendByDefault(request: HttpRequest): Promise<ClientResponse> {
  const fetch = sharedFetch();
  return (await followed(clients.get(fetch) as HttpClient, request, "follow")).response;
}

/**
 * Sends a request as `sendByDefault` does, to addresses that the policy permits, and follows no redirect.
 *
 * @throws HttpSendError where there is no answer, an EgressError among its causes; the signal's reason
 */
export function sendGuarded(request: HttpRequest, policy: EgressPolicy): Promise<ClientResponse> {
  const client = clients.get(sharedFetch()) as HttpClient;
  return client.guarded(policy).send(request);
}

/** The client that a `fetch` of ours sends with; undefined for any other. */
export function clientOf(fetch: Fetch): HttpClient | undefined {
  return clients.get(fetch === defaultFetch ? sharedFetch() : fetch);
}

function sharedFetch(): Fetch {
  shared ??= nodeFetch();
  return shared;
}

/** The request that `fetch` was given, where it is plain. @throws TypeError as `fetch` does */
function plainRequest(input: Parameters<Fetch>[0], init: RequestInit): HttpRequest | undefined {
  const { body = null, method = "GET", headers, redirect = "follow", signal } = init;
  const isPlain = body === null || typeof body === "string" || body instanceof Uint8Array;
  if (input instanceof Request || !isPlain || redirect === "error") return undefined;
  const url = typeof input === "string" ? new URL(input) : input;
  // The platform says what is wrong with these.
  const isOdd = !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "";
  const verb = method.toUpperCase();
  if (isOdd || (body !== null && (verb === "GET" || verb === "HEAD"))) return undefined;
  const fields: Record<string, string> = { accept: "*/*", ...clientHeaders };
  for (const [name, value] of new Headers(headers)) fields[name] = value;
  if (typeof body === "string") fields["content-type"] ??= "text/plain;charset=UTF-8";
  return { url, method: verb, headers: fields, body: body ?? undefined, signal: signal ?? undefined };
}

/** An answer, and the request that it is of: the last of those that redirects led to. */
interface Followed {
  readonly response: ClientResponse;
  readonly request: HttpRequest;
  readonly redirects: number;
}

async function followed(client: HttpClient, first: HttpRequest, redirect: RequestInit["redirect"]): Promise<Followed> {
  let request = first;
  for (let redirects = 0; ; redirects += 1) {
    const response = await client.send(request);
    const next = redirect === "follow" ? redirected(request, response) : undefined;
    if (next === undefined) return { response, request, redirects };
    response.discard();
    if (redirects === maxRedirects)
      throw new Error(`more than ${maxRedirects} redirects, the last to ${next.url.origin}`);
    request = next;
  }
}

const nullBodyStatuses: ReadonlySet<number> = new Set([204, 205, 304]);
// So much is read ahead of the reader of the stream.
const aheadBytes = 64 * 1024;

/** An answer as the platform's. @throws RangeError or TypeError where the platform can hold no such answer; it is ended then */
export function toResponse(
  answer: ClientResponse,
  { url, method, signal }: HttpRequest,
  redirected: boolean,
): Response {
  const { status, statusText } = answer;
  const hasBody = method !== "HEAD" && !nullBodyStatuses.has(status);
  try {
    if (!hasBody) answer.discard();
    const headers = Object.entries(answer.headers).flatMap(([name, value = []]) =>
      [value].flat().map((one): [string, string] => [name, one]),
    );
    const response = new Response(hasBody ? streamOf(answer, signal) : null, { status, statusText, headers });
    // The platform's constructor takes neither.
    const { hash, href } = url;
    const shown = hash === "" ? href : href.slice(0, -hash.length);
    return Object.defineProperties(response, { url: { value: shown }, redirected: { value: redirected } });
  } catch (error) {
    answer.discard();
    throw error;
  }
}

/** A body as a stream of the platform: while no one reads on, the server has to wait. */
function streamOf(answer: ClientResponse, signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  let isOver = false;
  let isRead = false;
  const read = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    try {
      await answer.read((chunk) => {
        controller.enqueue(chunk);
        if ((controller.desiredSize ?? 0) <= -aheadBytes) answer.pause();
      });
      if (!isOver) controller.close();
    } catch (cause) {
      if (!isOver) controller.error(signal?.aborted === true ? signal.reason : new TypeError("terminated", { cause }));
    }
  };
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    if (isRead) answer.resume();
    else void read(controller);
    isRead = true;
  };
  const cancel = () => {
    isOver = true;
    answer.discard();
  };
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0, size: ({ byteLength }) => byteLength });
}
