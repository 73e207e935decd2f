import {
  StreamableHTTPClientTransport as SdkTransport,
  StreamableHTTPError,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { messageOf, ToolkitError } from "../../../core/error.ts";
import { ConnectionLostError } from "../../rpc/error.ts";
import { parseMessages, type RequestId, type RpcMessage } from "../../rpc/message.ts";
import type { Transport, TransportEvents } from "../transport.ts";
import { discard, fetchOnce, type HttpParameters } from "./network.ts";
import { isRedirect, noStream, ServerStream } from "./server-stream.ts";
import { HttpStatusError, mediaTypeOf, NotMcpError, statusError } from "./status.ts";
import { watchedBody } from "./watched-body.ts";

const jsonType = "application/json";
const eventStreamType = "text/event-stream";

const deleteTimeoutMs = 1_000;
// The SDK asks for a stream that ended again after so long, or after what the server says; the rest of the wait is ours.
const reopenMs = 100;
const maxRetryMs = 60_000;
const maxResumes = 5;
// What these say is more than a JSON-RPC error in their body could.
const namedStatuses: ReadonlySet<number> = new Set([401, 403, 429, 502, 503, 504]);
// Nobody waits for its answer.
const probeId = "probe";

/**
 * Streamable HTTP by the SDK, with a `fetch` that notices what the SDK does not tell: an answer that ends without a result, a session
 * the server no longer knows, a server that is down, and gaps in the stream of what the server says unasked.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 */
export class StreamableHttpTransport implements Transport {
  readonly name = "streamable-http";
  readonly #parameters: HttpParameters;
  readonly #sdk: SdkTransport;
  readonly #abort = new AbortController();
  readonly #posts = new Map<RequestId, AbortController>();
  /** By the id of the last event of an answer: the request it answers. */
  readonly #resumable = new Map<string, RequestId>();
  readonly #resumes = new Map<RequestId, number>();
  readonly #stream: ServerStream;
  #events: TransportEvents | undefined;
  #open = true;
  #closing: Promise<void> | undefined;

  constructor(parameters: HttpParameters) {
    const { maxMessageBytes } = parameters;
    this.#parameters = parameters;
    this.#stream = new ServerStream({
      signal: this.#abort.signal,
      maxMessageBytes,
      request: (url, init) => this.#request(url, init),
      refused: (response) => this.#streamRefused(response),
      gap: () => this.#events?.gap(),
      failed: (error) => this.#end(error),
    });
    this.#sdk = new SdkTransport(parameters.url, {
      requestInit: { headers: { ...parameters.headers } },
      fetch: (url, init = {}) => this.#fetch(url, init),
      reconnectionOptions: {
        initialReconnectionDelay: reopenMs,
        maxReconnectionDelay: maxRetryMs,
        reconnectionDelayGrowFactor: 1,
        maxRetries: 1,
      },
    });
  }

  get hears(): boolean {
    return this.#stream.exists;
  }

  async start(events: TransportEvents): Promise<void> {
    this.#events = events;
    this.#sdk.onmessage = (message) => events.message(message as RpcMessage);
    // Whatever it reports has been noticed where it happened.
    this.#sdk.onerror = () => {};
    await this.#sdk.start();
  }

  negotiated(protocolVersion: string): void {
    this.#sdk.setProtocolVersion(protocolVersion);
  }

  ready(): Promise<void> {
    return this.#stream.settled();
  }

  async send({ jsonrpc, id, method, ...rest }: RpcMessage): Promise<void> {
    if (!this.#open) throw new ConnectionLostError("the connection was closed", { sent: false });
    // In this order, so that the id of a request is found without parsing its body.
    const message = id === undefined ? { jsonrpc, method, ...rest } : { jsonrpc, id, method, ...rest };
    try {
      await this.#sdk.send(message as JSONRPCMessage);
    } catch (error) {
      throw this.#failure(error, id);
    }
  }

  forget(id: RequestId): void {
    this.#posts.get(id)?.abort();
    this.#forgetPost(id);
  }

  close(): Promise<void> {
    this.#closing ??= this.#dispose();
    return this.#closing;
  }

  #fetch(url: string | URL, init: RequestInit): Promise<Response> {
    if (init.method === "POST") return this.#post(url, init);
    if (init.method === "DELETE") {
      return fetchOnce(this.#parameters.fetch, url, { ...init, signal: AbortSignal.timeout(deleteTimeoutMs) });
    }
    const lastId = new Headers(init.headers).get("last-event-id");
    const request = lastId === null ? undefined : this.#resumable.get(lastId);
    return request === undefined ? this.#stream.answer(url, init) : this.#resume(request, url, init);
  }

  async #post(url: string | URL, init: RequestInit): Promise<Response> {
    const id = requestIdOf(init.body);
    const post = new AbortController();
    if (id !== undefined) this.#posts.set(id, post);
    const signal = id === undefined ? this.#abort.signal : post.signal;
    const response = await this.#request(url, { ...init, signal });
    if (isRedirect(response)) return response;
    if (!response.ok) return this.#refused(response, id);
    if (id === undefined) return response;
    const type = mediaTypeOf(response);
    if (type === jsonType) return this.#watched(response, { events: false, end: () => this.#forgetPost(id) });
    if (type === eventStreamType) return this.#watchedAnswer(response, id);
    await discard(response);
    throw new NotMcpError(`answered ${type === "" ? "without a content type" : type}: this is no MCP endpoint`);
  }

  /** Some servers answer an error of JSON-RPC with a status of its own: it is handed on as what it is. */
  async #refused(response: Response, id: RequestId | undefined): Promise<Response> {
    const { error, text } = await this.#statusError(response);
    this.#refuseDeadSession(error, text);
    const [answer] = parseMessages(text) ?? [];
    if (namedStatuses.has(error.status) || id === undefined || answer?.error === undefined || answer.id !== id)
      throw error;
    return new Response(text, { status: 200, headers: { "content-type": jsonType } });
  }

  /** An answer as events: when it is over and nothing can resume it, its request is lost. */
  #watchedAnswer(response: Response, id: RequestId): Response {
    let lastId: string | undefined;
    return this.#watched(response, {
      events: true,
      id: (value) => {
        lastId = value;
        this.#resumable.set(value, id);
      },
      end: (error) => {
        // The SDK resumes what has ids.
        if (lastId !== undefined && !(error instanceof ToolkitError)) return;
        this.#lose(id, error);
      },
    });
  }

  /** Tells that a request has no answer, after all that came has been read. */
  #lose(id: RequestId, error: unknown): void {
    const why = error === undefined ? "the answer ended without a result" : `the answer broke off: ${messageOf(error)}`;
    const lost = error instanceof ToolkitError ? error : new ConnectionLostError(why, { sent: true, cause: error });
    this.#forgetPost(id);
    setImmediate(() => this.#events?.lost(id, lost));
    if (error !== undefined && !(error instanceof ToolkitError)) this.#probe();
  }

  async #resume(id: RequestId, url: string | URL, init: RequestInit): Promise<Response> {
    const attempts = (this.#resumes.get(id) ?? 0) + 1;
    this.#resumes.set(id, attempts);
    if (!this.#open || attempts > maxResumes) return this.#notResumed(id, "the answer was resumed too often");
    try {
      const signal = this.#posts.get(id)?.signal ?? this.#abort.signal;
      const response = await this.#request(url, { ...init, signal });
      if (isRedirect(response)) return response;
      if (response.ok && mediaTypeOf(response) === eventStreamType) return this.#watchedAnswer(response, id);
      await discard(response);
      return this.#notResumed(id, `the answer broke off and cannot be resumed (${response.status})`);
    } catch (error) {
      return this.#notResumed(id, `the answer broke off and cannot be resumed: ${messageOf(error)}`);
    }
  }

  #notResumed(id: RequestId, why: string): Response {
    this.#forgetPost(id);
    this.#events?.lost(id, new ConnectionLostError(why, { sent: true }));
    return noStream();
  }

  async #streamRefused(response: Response): Promise<never> {
    const { error, text } = await this.#statusError(response);
    this.#refuseDeadSession(error, text);
    throw new Error("the server no longer offers its event stream", { cause: error });
  }

  #watched(response: Response, watcher: Omit<Parameters<typeof watchedBody>[1], "maxMessageBytes">): Response {
    return watchedBody(response, { maxMessageBytes: this.#parameters.maxMessageBytes, ...watcher });
  }

  async #request(url: string | URL, init: RequestInit): Promise<Response> {
    try {
      return await fetchOnce(this.#parameters.fetch, url, init);
    } catch (error) {
      // Nobody listens there: whoever else is in flight need not wait. Later, so that this request says itself what happened.
      if (error instanceof ConnectionLostError && !error.sent) setImmediate(() => this.#end(error));
      throw error;
    }
  }

  async #statusError(response: Response): Promise<{ readonly error: HttpStatusError; readonly text: string }> {
    const text = await response.text().catch(() => "");
    return { error: statusError(response, text), text };
  }

  /** 404 says that a session is over; some servers say it with 400. */
  #refuseDeadSession(error: HttpStatusError, text: string): void {
    if (this.#sdk.sessionId === undefined) return;
    if (error.status !== 404 && !(error.status === 400 && /session/i.test(text))) return;
    const message = `the server no longer knows the session (${error.status})`;
    const lost = new ConnectionLostError(message, { sent: false, cause: error });
    setImmediate(() => this.#end(lost));
    throw lost;
  }

  /** What the SDK's sending threw, as one of our errors. */
  #failure(error: unknown, id: RequestId | null | undefined): unknown {
    if (id !== null && id !== undefined) this.#forgetPost(id);
    if (error instanceof StreamableHTTPError) {
      const said = error.message
        .replace(/^Streamable HTTP error: (?:Error POSTing to endpoint: )?/, "")
        .replace(/ \(redirectPolicy: [^)]*\)$/, "");
      return new HttpStatusError(`answered ${error.code ?? ""}: ${said}`, {
        status: error.code ?? 0,
        retryAfterMs: undefined,
      });
    }
    if (
      !this.#open ||
      [ConnectionLostError, HttpStatusError, NotMcpError, ToolkitError].some((type) => error instanceof type)
    ) {
      if (error instanceof ConnectionLostError && error.sent && id !== probeId) this.#probe();
      return error;
    }
    this.#probe();
    return new ConnectionLostError(`the answer is not to be understood: ${messageOf(error)}`, {
      sent: true,
      cause: error,
    });
  }

  /** After a connection broke: is anybody there? If not, this ends the session; if so, nothing has to be done. */
  #probe(): void {
    if (!this.#open || this.#posts.has(probeId)) return;
    this.send({ jsonrpc: "2.0", id: probeId, method: "ping" }).catch(() => {});
  }

  #forgetPost(id: RequestId): void {
    this.#posts.delete(id);
    this.#resumes.delete(id);
    for (const [event, request] of this.#resumable) if (request === id) this.#resumable.delete(event);
  }

  #end(error: Error): void {
    if (!this.#open) return;
    this.#open = false;
    this.#stop();
    void this.#sdk.close();
    this.#events?.closed(error);
  }

  #stop(): void {
    this.#stream.stop();
    this.#abort.abort();
    for (const post of this.#posts.values()) post.abort();
  }

  async #dispose(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#stop();
    // Where it cannot be told, the server forgets the session in its own time.
    await this.#sdk.terminateSession().catch(() => {});
    await this.#sdk.close();
  }
}

function requestIdOf(body: RequestInit["body"]): RequestId | undefined {
  const match = typeof body === "string" ? /^\{"jsonrpc":"2\.0","id":(?:(\d+)|"([^"]*)"),"method"/.exec(body) : null;
  return match === null ? undefined : match[1] === undefined ? match[2] : Number(match[1]);
}
