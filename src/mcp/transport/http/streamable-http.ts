import {
  StreamableHTTPClientTransport as SdkTransport,
  StreamableHTTPError,
} from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { messageOf, ToolkitError } from "../../../core/error.ts";
import { ConnectionLostError } from "../../rpc/error.ts";
import { parseMessages, type RequestId, type RpcMessage } from "../../rpc/message.ts";
import type { Caller, Transport, TransportEvents } from "../transport.ts";
import { eventStreamType, jsonType, readAnswer } from "./answer.ts";
import { discard, errorText, fetchOnce, type HttpParameters, networkOf } from "./network.ts";
import { Post, requestIdOf, subjectOf } from "./post.ts";
import { QuietEnd } from "./quiet-end.ts";
import { isRedirect, reopenMs, ServerStream } from "./server-stream.ts";
import { HttpStatusError, mediaTypeOf, NotMcpError, sdkStatusError, statusError } from "./status.ts";

const sessionHeader = "mcp-session-id";
const deleteTimeoutMs = 1_000;
const maxRetryMs = 60_000;
// What these say is more than a JSON-RPC error in their body could.
const namedStatuses: ReadonlySet<number> = new Set([401, 403, 429, 502, 503, 504]);
// Nobody waits for its answer.
const probeId = "probe";

/**
 * Streamable HTTP: the SDK sends, with a `fetch` of ours which keeps the answers to requests for us to read: in order, for less than
 * the SDK's streams and schemas cost, and noticing what the SDK does not tell: an answer that ends without a result, a session the
 * server no longer knows, a server that is down, and gaps in the stream of what the server says unasked.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 */
export class StreamableHttpTransport implements Transport {
  readonly name = "streamable-http";
  // A server that vanished leaves a socket that is open at this end.
  readonly silenceMs = 5_000;
  readonly #parameters: HttpParameters;
  readonly #sdk: SdkTransport;
  readonly #abort = new AbortController();
  readonly #posts = new Map<RequestId, Post>();
  /** By the id of the event after which they are being resumed. */
  readonly #resuming = new Map<string, Post>();
  readonly #stream: ServerStream;
  readonly #nothing = new Response(null, { headers: { "content-type": eventStreamType } });
  readonly #ending = new QuietEnd((error) => this.#end(error));
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
      reopen: () => void this.#sdk.resumeStream("").catch((error) => this.#endSoon(error)),
      failed: (error) => this.#endSoon(error),
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
    return this.#stream.isOpen;
  }

  get network(): Readonly<Record<string, string | number>> {
    const { sessionId } = this.#sdk;
    const network = networkOf(this.#parameters.url);
    return sessionId === undefined ? network : { ...network, "mcp.session.id": sessionId };
  }

  async start(events: TransportEvents): Promise<void> {
    this.#events = events;
    this.#sdk.onmessage = (message) => events.message(this.#stream.heard(message as RpcMessage));
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

  send(message: RpcMessage, caller?: Caller): Promise<void> {
    if (!this.#open) throw new ConnectionLostError("the connection was closed", { sent: false });
    const lost = this.#ending.error;
    if (lost !== undefined) throw new ConnectionLostError(lost.message, { sent: false, cause: lost });
    const { id, method } = message;
    return id === undefined || id === null || method === undefined
      ? this.#tell(message)
      : this.#ask(id, message, caller);
  }

  forget(id: RequestId): void {
    this.#posts.get(id)?.abort.abort();
  }

  close(): Promise<void> {
    this.#closing ??= this.#dispose();
    return this.#closing;
  }

  async #tell(message: RpcMessage): Promise<void> {
    try {
      await this.#deliver(message);
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Sends a request and hands on its answer. */
  async #ask(id: RequestId, { jsonrpc, method, params }: RpcMessage, caller: Caller | undefined): Promise<void> {
    const post = new Post(caller);
    const { signal } = post.abort;
    this.#posts.set(id, post);
    try {
      // In this order, so that the id of a request is found without parsing its body.
      await this.#deliver({ jsonrpc, id, method, params });
      await readAnswer(post.takeResponse(), {
        id,
        maxMessageBytes: this.#parameters.maxMessageBytes,
        redactor: this.#parameters.redactor,
        signal,
        message: (answer) => this.#events?.message(answer, id),
        warning: (text) => this.#events?.warning(text),
        resume: (lastId) => this.#resume(post, lastId),
        enough: () => post.abort.abort(),
      });
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = this.#failure(error);
      if (failure instanceof ConnectionLostError && failure.sent && id !== probeId) this.#probe();
      throw failure;
    } finally {
      this.#posts.delete(id);
    }
  }

  /** Resolves when the answer begins. */
  #deliver(message: RpcMessage): Promise<void> {
    return this.#ending.during(() => this.#sdk.send(message as JSONRPCMessage));
  }

  async #resume(post: Post, lastId: string): Promise<Response> {
    this.#resuming.set(lastId, post);
    try {
      await this.#sdk.resumeStream(lastId);
    } catch (error) {
      if (post.abort.signal.aborted) throw error;
      // Whatever became of this request, the one it was to resume was sent.
      const { redactor } = this.#parameters;
      throw notResumed(redactor.text(messageOf(error)), redactor.error(error));
    } finally {
      this.#resuming.delete(lastId);
    }
    const response = post.takeResponse();
    if (response.ok && mediaTypeOf(response) === eventStreamType) return response;
    await discard(response);
    throw notResumed(`the server answered ${response.status}`);
  }

  #fetch(url: string | URL, init: RequestInit): Promise<Response> {
    if (init.method === "POST") return this.#post(url, init);
    if (init.method === "DELETE") {
      return fetchOnce(this.#parameters, url, { ...init, signal: AbortSignal.timeout(deleteTimeoutMs) });
    }
    const lastId = new Headers(init.headers).get("last-event-id");
    const post = lastId === null ? undefined : this.#resuming.get(lastId);
    return post === undefined ? this.#stream.answer(url, init) : this.#resumed(post, url, init);
  }

  async #post(url: string | URL, init: RequestInit): Promise<Response> {
    const id = requestIdOf(init.body);
    const post = id === undefined ? undefined : this.#posts.get(id);
    const caller = (post ?? this.#about(init.body))?.caller;
    const response = await this.#request(url, { ...init, signal: (post?.abort ?? this.#abort).signal }, caller);
    if (isRedirect(response)) return response;
    const answer = response.ok ? response : await this.#errorAnswer(response, id);
    return post === undefined ? answer : this.#keep(post, answer);
  }

  /** The request that a notification is about. */
  #about(body: RequestInit["body"]): Post | undefined {
    const id = subjectOf(body);
    return id === undefined ? undefined : this.#posts.get(id);
  }

  async #resumed(post: Post, url: string | URL, init: RequestInit): Promise<Response> {
    const response = await this.#request(url, { ...init, signal: post.abort.signal }, post.caller);
    return isRedirect(response) ? response : this.#keep(post, response);
  }

  /** Keeps an answer for us to read, and gives what the SDK is to read in its place: nothing, but for the session it begins. */
  #keep(post: Post, response: Response): Response {
    post.response = response;
    const session = response.headers.get(sessionHeader);
    if (session === null || session === this.#sdk.sessionId) return this.#nothing;
    return new Response(null, { headers: { "content-type": eventStreamType, [sessionHeader]: session } });
  }

  /** Some servers answer an error of JSON-RPC with a status of its own: it is handed on as what it is. */
  async #errorAnswer(response: Response, id: RequestId | undefined): Promise<Response> {
    const { error, text } = await this.#statusError(response);
    this.#refuseDeadSession(error, text);
    const [answer] = parseMessages(text) ?? [];
    if (namedStatuses.has(error.status) || id === undefined || answer?.error === undefined || answer.id !== id)
      throw error;
    return new Response(text, { headers: { "content-type": jsonType } });
  }

  async #streamRefused(response: Response): Promise<never> {
    const { error, text } = await this.#statusError(response);
    this.#refuseDeadSession(error, text);
    throw new Error("the server no longer offers its event stream", { cause: error });
  }

  async #request(url: string | URL, init: RequestInit, caller?: Caller): Promise<Response> {
    try {
      return await fetchOnce(this.#parameters, url, init, caller);
    } catch (error) {
      // Nobody listens there: whoever else is in flight need not wait.
      if (error instanceof ConnectionLostError && !error.sent) this.#endSoon(error);
      throw error;
    }
  }

  async #statusError(response: Response): Promise<{ readonly error: HttpStatusError; readonly text: string }> {
    const text = await errorText(response, this.#parameters.maxMessageBytes);
    return { error: statusError(response, text, this.#parameters.redactor), text };
  }

  /** 404 says that a session is over; some servers say it with 400. */
  #refuseDeadSession(error: HttpStatusError, text: string): void {
    if (this.#sdk.sessionId === undefined) return;
    if (error.status !== 404 && !(error.status === 400 && /session/i.test(text))) return;
    const message = `the server no longer knows the session (${error.status})`;
    const lost = new ConnectionLostError(message, { sent: false, cause: error });
    this.#endSoon(lost);
    throw lost;
  }

  /** What sending or reading threw, as one of our errors. */
  #failure(error: unknown): unknown {
    const { redactor } = this.#parameters;
    if (error instanceof StreamableHTTPError) return sdkStatusError(error, redactor);
    if (!this.#open || isOurs(error)) return error;
    const why = redactor.text(messageOf(error));
    return new ConnectionLostError(`the answer broke off: ${why}`, { sent: true, cause: redactor.error(error) });
  }

  /** After a connection broke: is anybody there? If not, this ends the session; if so, nothing has to be done. */
  #probe(): void {
    if (!this.#open || this.#ending.error !== undefined || this.#posts.has(probeId)) return;
    this.send({ jsonrpc: "2.0", id: probeId, method: "ping" }).catch(() => {});
  }

  #endSoon(error: Error): void {
    if (this.#open) this.#ending.begin(error);
  }

  #end(error: Error): void {
    if (!this.#open) return;
    this.#open = false;
    this.#stop();
    void this.#sdk.close();
    this.#events?.closed(error);
  }

  #stop(): void {
    this.#ending.stop();
    this.#stream.stop();
    this.#abort.abort();
    for (const post of this.#posts.values()) post.abort.abort();
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

/** What says itself what it is. */
function isOurs(error: unknown): boolean {
  return [ConnectionLostError, HttpStatusError, NotMcpError, ToolkitError].some((type) => error instanceof type);
}

function notResumed(why: string, cause?: unknown): ConnectionLostError {
  return new ConnectionLostError(`the answer broke off and cannot be resumed: ${why}`, { sent: true, cause });
}
