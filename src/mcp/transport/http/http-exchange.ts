import { STATUS_CODES } from "node:http";
import type { Trace } from "../../../call/trace/trace.ts";
import { ToolkitError } from "../../../core/error.ts";
import { withServerOutput } from "../../../core/server-output.ts";
import { type HttpRequest, type HttpResponse, HttpSendError } from "../../../lib/fetch/client-exchange.ts";
import { redirectStatuses, redirectTarget } from "../../../lib/fetch/redirect.ts";
import { reasonOf, retryAfterMs } from "../../../lib/fetch/send-failure.ts";
import { type SseListener, sseFeed } from "../../../lib/sse-feed.ts";
import type { Redactor } from "../../redact.ts";
import { ConnectionLostError, messageTooLarge } from "../../rpc/rpc-error.ts";
import { OddTexts } from "../odd-texts.ts";
import type { RequestOwner } from "../transport.ts";
import { HttpStatusError } from "./http-error.ts";

/** Sends one request, for the caller of the MCP request that it belongs to, if any. Redirects are not followed. */
export type EndpointSend = (request: EndpointRequest, owner: RequestOwner | undefined) => Promise<HttpResponse>;

/** One request to an endpoint. */
export interface EndpointRequest extends HttpRequest {
  readonly body?: string | undefined;
  readonly signal: AbortSignal;
}

/** An MCP endpoint, and the parts that its exchanges share. */
export interface McpEndpoint {
  readonly url: URL;
  /** Headers of every request, by name in lower case. They win over those of the protocol. */
  readonly headers: Readonly<Record<string, string>>;
  readonly send: EndpointSend;
  /** The most bytes of a JSON body, and of the data of one event. */
  readonly maxMessageBytes: number;
  readonly redactor: Redactor;
}

export const jsonType = "application/json";
export const eventStreamType = "text/event-stream";
const maxRedirects = 5;
const quotedLength = 300;
const wholeDecoder = new TextDecoder();

/**
 * Sends one request and gives the head of its answer, whatever its status. Redirects are followed within the origin, where they keep
 * the method.
 *
 * @throws ConnectionLostError where there is no answer, with `sent: false` where the request surely never left; ToolkitError where it
 *   was not sent for want of credentials; the signal's reason
 */
export async function exchange(
  { send, redactor, maxMessageBytes }: McpEndpoint,
  first: EndpointRequest,
  owner?: RequestOwner,
): Promise<HttpAnswer> {
  // Proxies on the way learn whose part this is, as the server does by `_meta`.
  let request = owner?.trace === undefined || first.method !== "POST" ? first : traced(first, owner.trace);
  for (let redirects = 0; ; redirects += 1) {
    let response: HttpResponse;
    try {
      response = await send(request, owner);
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      throw notSent(error, redactor);
    }
    const isRedirect = redirectStatuses.has(response.status) && redirects < maxRedirects;
    const url = isRedirect ? redirectWithinOrigin(request, response) : undefined;
    if (url === undefined) return new HttpAnswer(response, request.url, { redactor, maxMessageBytes });
    response.discard();
    request = { ...request, url };
  }
}

/** An answer whose status is no success. */
export interface RefusedAnswer {
  /** Its body, as far as it came. */
  readonly text: string;
  /** Made where it is needed: an answer by JSON-RPC says more than its status. */
  toError(): HttpStatusError;
}

/** The answer to one request: its head, and its body, to be read or discarded. */
export class HttpAnswer {
  /** `other` for a success without a body of MCP, such as 202; `refused` for every status that is no success. */
  readonly kind: "json" | "events" | "other" | "refused";
  /** The media type, without parameters, in lower case; empty for none. */
  readonly mediaType: string;
  readonly #response: HttpResponse;
  readonly #url: URL;
  readonly #limits: Pick<McpEndpoint, "redactor" | "maxMessageBytes">;

  constructor(response: HttpResponse, url: URL, limits: Pick<McpEndpoint, "redactor" | "maxMessageBytes">) {
    this.#response = response;
    this.#url = url;
    this.#limits = limits;
    this.mediaType = (response.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
    if (response.status < 200 || response.status > 299) this.kind = "refused";
    else if (this.mediaType === jsonType) this.kind = "json";
    else this.kind = this.mediaType === eventStreamType ? "events" : "other";
  }

  get status(): number {
    return this.#response.status;
  }

  /** A header by its name in lower case. */
  header(name: string): string | undefined {
    return this.#response.header(name);
  }

  /** The whole body. @throws ToolkitError `LIMIT_EXCEEDED`; the error that broke it off */
  async text(): Promise<string> {
    const text = { soFar: "" };
    await this.#readText(text);
    return text.soFar;
  }

  /** Reports the events of the body to its end. @throws ToolkitError `LIMIT_EXCEEDED`; the error that broke it off */
  async events(listener: SseListener): Promise<void> {
    const decoder = new TextDecoder();
    const feed = eventFeed(listener, this.#limits.maxMessageBytes);
    await this.#response.read((chunk) => feed(decoder.decode(chunk, { stream: true })));
  }

  /** Ends it unread. */
  discard(): void {
    this.#response.discard();
  }

  /** The error of a status that is no success, and the body as far as it comes, but no more than a message may have. */
  async refusal(): Promise<RefusedAnswer> {
    const { redactor } = this.#limits;
    const target = redirectTarget(this.#response, this.#url);
    if (target !== undefined || this.#response.status === 0) {
      this.discard();
      return { text: "", toError: () => redirectError(this.#response.status, this.#url, target, redactor) };
    }
    const body = { soFar: "" };
    // The part that came says enough.
    await this.#readText(body).catch(() => {});
    const text = body.soFar;
    return { text, toError: () => this.#statusError(text) };
  }

  #statusError(text: string): HttpStatusError {
    const { redactor } = this.#limits;
    const { status, statusText } = this.#response;
    const said = redactor.text(text).trim();
    const isPage = this.mediaType === "text/html" || said.startsWith("<");
    const phrase = STATUS_CODES[status] ?? "";
    const ownPhrase = statusText === phrase ? "" : redactor.text(statusText);
    const quote = [ownPhrase, isPage ? "" : said.slice(0, quotedLength)].filter((part) => part !== "").join(": ");
    const error = new HttpStatusError(`answered ${`${status} ${phrase}`.trim()}`, {
      status,
      retryAfterMs: retryAfterMs(this.header("retry-after"), Date.now()),
      challenge: redactor.text(this.header("www-authenticate") ?? "") || undefined,
    });
    return withServerOutput(error, quote === "" ? undefined : `it said: ${quote}`);
  }

  async #readText(text: { soFar: string }): Promise<void> {
    const { maxMessageBytes } = this.#limits;
    // Most bodies come in one piece, which needs no decoder of its own.
    let only: Uint8Array | undefined;
    let decoder: InstanceType<typeof TextDecoder> | undefined;
    let left = maxMessageBytes;
    try {
      await this.#response.read((chunk) => {
        const part = left < chunk.length ? chunk.subarray(0, left) : chunk;
        if (only === undefined) only = part;
        else {
          if (decoder === undefined) {
            decoder = new TextDecoder();
            text.soFar = decoder.decode(only, { stream: true });
          }
          text.soFar += decoder.decode(part, { stream: true });
        }
        left -= chunk.length;
        if (left < 0) throw messageTooLarge(maxMessageBytes, maxMessageBytes - left);
      });
    } finally {
      if (decoder !== undefined) text.soFar += decoder.decode();
      else if (only !== undefined) text.soFar = wholeDecoder.decode(only);
    }
  }
}

/**
 * A parser of the SSE stream of a server, to be fed with its text as it comes.
 *
 * @throws through the function it gives: ToolkitError `LIMIT_EXCEEDED` for the data of one event, in bytes; what the listener throws
 */
export function eventFeed(listener: SseListener, maxBytes: number): (text: string) => void {
  return sseFeed(listener, { maxBytes, tooLarge: (actual) => messageTooLarge(maxBytes, actual) });
}

/** The span attributes of a server over HTTP. */
export function networkOf({ hostname, port, protocol }: URL): Readonly<Record<string, string | number>> {
  const defaultPort = protocol === "https:" ? 443 : 80;
  return {
    "network.transport": "tcp",
    "network.protocol.name": "http",
    "server.address": hostname.replace(/^\[(.*)\]$/, "$1"),
    "server.port": port === "" ? defaultPort : Number(port),
  };
}

/** The texts over HTTP that are no messages. */
export function oddTextsOf({ redactor }: McpEndpoint): OddTexts {
  return new OddTexts(redactor, { verb: "sent something", noun: "texts" });
}

function traced(request: EndpointRequest, trace: Trace): EndpointRequest {
  const fields = Object.entries(trace.inject({})).map(([name, value]) => [name, String(value)]);
  return { ...request, headers: { ...request.headers, ...Object.fromEntries(fields) } };
}

function notSent(error: unknown, redactor: Redactor): unknown {
  const cause = error instanceof HttpSendError ? error.cause : error;
  // It says itself what it is: nothing is wrong with the connection.
  if (ToolkitError.is(cause)) return cause;
  const sent = !(error instanceof HttpSendError) || error.sent;
  const message = `cannot be reached: ${redactor.text(reasonOf(cause))}`;
  return new ConnectionLostError(message, { sent, cause: redactor.error(cause) });
}

/** Where a redirect leads that is followed: one that keeps the method, to the same origin, or from http to https of the same host. */
function redirectWithinOrigin({ url, method }: EndpointRequest, response: HttpResponse): URL | undefined {
  const target = redirectTarget(response, url);
  if (target === undefined) return undefined;
  const keepsMethod = response.status === 307 || response.status === 308 || method === "GET";
  const isUpgrade = url.protocol === "http:" && url.port === "" && target.protocol === "https:" && target.port === "";
  const isWithin = target.origin === url.origin || (isUpgrade && target.hostname === url.hostname);
  return keepsMethod && isWithin && target.username === "" && target.password === "" ? target : undefined;
}

function redirectError(status: number, from: URL, target: URL | undefined, redactor: Redactor): HttpStatusError {
  if (target === undefined) {
    // A browser's fetch hides it.
    return new HttpStatusError("answered no status, a redirect that is not followed: give the URL it leads to", {
      status,
    });
  }
  target.username = target.password = target.search = target.hash = "";
  if (from.protocol === "https:" && target.protocol === "http:") target.protocol = "https:";
  const to = redactor.text(target.href);
  const error = new HttpStatusError(`answered ${status}, a redirect that is not followed`, { status });
  return withServerOutput(error, `if you trust it, give ${to} as the URL`);
}
