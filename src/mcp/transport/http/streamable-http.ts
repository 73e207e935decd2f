import { setTimeout as delay } from "node:timers/promises";
import { messageOf, ToolkitError } from "../../../core/error.ts";
import { ConnectionLostError } from "../../rpc/error.ts";
import { parseMessages, type RequestId, type RpcMessage } from "../../rpc/message.ts";
import type { Transport, TransportEvents } from "../transport.ts";
import { discard, HttpClient, type HttpParameters } from "./http-client.ts";
import { ServerStream } from "./server-stream.ts";
import { HttpStatusError, mediaTypeOf, NotMcpError } from "./status.ts";

const jsonType = "application/json";
const eventStreamType = "text/event-stream";

const deleteTimeoutMs = 1_000;
const retryMs = 1_000;
const maxRetryMs = 60_000;
const maxResumes = 5;
// Nobody waits for its answer.
const probeId = "probe";
// What these say is more than a JSON-RPC error in their body could.
const namedStatuses: ReadonlySet<number> = new Set([401, 403, 429, 502, 503, 504]);

/**
 * Streamable HTTP: each message is a POST, answered with JSON or an event stream; what the server says unasked comes over one
 * more event stream. A session the server no longer knows, and a server that is down, end the connection.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 */
export class StreamableHttpTransport implements Transport {
  readonly name = "streamable-http";
  readonly #http: HttpClient;
  readonly #abort = new AbortController();
  readonly #posts = new Map<RequestId, AbortController>();
  #events: TransportEvents | undefined;
  #sessionId: string | undefined;
  #version: string | undefined;
  #stream: ServerStream | undefined;
  #open = true;
  #closing: Promise<void> | undefined;

  constructor(parameters: HttpParameters) {
    this.#http = new HttpClient(parameters);
  }

  get hears(): boolean {
    return this.#stream?.exists === true;
  }

  async start(events: TransportEvents): Promise<void> {
    this.#events = events;
  }

  negotiated(protocolVersion: string): void {
    this.#version = protocolVersion;
  }

  ready(): Promise<void> {
    const { signal } = this.#abort;
    this.#stream = new ServerStream({
      http: this.#http,
      signal,
      open: (lastId) => this.#get(signal, lastId),
      message: (data) => this.#deliver(data),
      gap: () => this.#events?.gap(),
    });
    this.#stream.run().catch((error: Error) => this.#end(error));
    return this.#stream.settled();
  }

  send(message: RpcMessage): Promise<void> {
    if (!this.#open) throw new ConnectionLostError("the connection was closed", { sent: false });
    const { id, method } = message;
    return id !== undefined && id !== null && method !== undefined ? this.#ask(id, message) : this.#tell(message);
  }

  forget(id: RequestId): void {
    this.#posts.get(id)?.abort();
  }

  close(): Promise<void> {
    this.#closing ??= this.#dispose();
    return this.#closing;
  }

  async #tell(message: RpcMessage): Promise<void> {
    const response = await this.#post(message, this.#abort.signal);
    if (response !== undefined) await discard(response);
  }

  /** Sends a request and hands on its answer, or tells that there will be none. */
  async #ask(id: RequestId, message: RpcMessage): Promise<void> {
    const post = new AbortController();
    this.#posts.set(id, post);
    try {
      const response = await this.#post(message, post.signal);
      if (response === undefined) return;
      const type = mediaTypeOf(response);
      if (type === jsonType) this.#deliver(await this.#http.text(response));
      else if (type === eventStreamType) await this.#follow(id, response, post.signal);
      else {
        await discard(response);
        throw new NotMcpError(`answered ${type === "" ? "without a content type" : type}: this is no MCP endpoint`);
      }
      this.#events?.lost(id, new ConnectionLostError("the answer ended without a result", { sent: true }));
    } catch (error) {
      if (post.signal.aborted) throw error;
      const failure = isOurs(error)
        ? error
        : new ConnectionLostError(`the answer broke off: ${messageOf(error)}`, { sent: true, cause: error });
      if (failure instanceof ConnectionLostError && failure.sent && id !== probeId) this.#probe();
      throw failure;
    } finally {
      this.#posts.delete(id);
    }
  }

  /** After a connection broke: is anybody there? If not, this ends the session; if so, nothing has to be done. */
  #probe(): void {
    if (this.#open && !this.#posts.has(probeId))
      this.#ask(probeId, { jsonrpc: "2.0", id: probeId, method: "ping" }).catch(() => {});
  }

  /** Undefined where the answer was an error that has been handed on. */
  async #post(message: RpcMessage, signal: AbortSignal): Promise<Response | undefined> {
    const response = await this.#request("POST", signal, {
      headers: { "content-type": jsonType, accept: `${jsonType}, ${eventStreamType}` },
      body: JSON.stringify(message),
    });
    this.#sessionId ??= response.headers.get("mcp-session-id") ?? undefined;
    if (response.ok) return response;
    const { error, text } = await this.#http.failure(response);
    this.#refuseDeadSession(error, text);
    if (namedStatuses.has(error.status) || !this.#deliverError(message, text)) throw error;
    return undefined;
  }

  /** Some servers answer an error of JSON-RPC with a status of its own. */
  #deliverError(request: RpcMessage, text: string): boolean {
    const [answer] = parseMessages(text) ?? [];
    if (answer?.error === undefined || answer.id !== request.id) return false;
    this.#events?.message(answer);
    return true;
  }

  /** Reads an answer that comes as a stream; a stream that broke is resumed where its events have ids. */
  async #follow(id: RequestId, first: Response, signal: AbortSignal): Promise<void> {
    let answered = false;
    let lastId: string | undefined;
    let waitMs = retryMs;
    const read = (response: Response) =>
      this.#http.events(response, {
        event: ({ type, data }) => {
          if (type === "message")
            this.#deliver(data, (message) => (answered ||= message.method === undefined && message.id === id));
        },
        id: (value) => (lastId = value),
        retry: (ms) => (waitMs = ms),
      });
    const readOrResume = async (response: Response) => {
      try {
        await read(response);
      } catch (error) {
        if (lastId === undefined || signal.aborted || isOurs(error)) throw error;
      }
    };
    await readOrResume(first);
    for (let attempt = 0; !answered && lastId !== undefined && attempt < maxResumes; attempt++) {
      await delay(Math.min(waitMs, maxRetryMs), undefined, { signal });
      const response = await this.#resume(signal, lastId);
      if (mediaTypeOf(response) !== eventStreamType) return discard(response);
      await readOrResume(response);
    }
  }

  async #resume(signal: AbortSignal, lastId: string): Promise<Response> {
    try {
      return await this.#get(signal, lastId);
    } catch (error) {
      if (signal.aborted) throw error;
      // Whatever became of this request, the one it was to resume was sent.
      throw new ConnectionLostError(`the answer broke off and cannot be resumed: the server ${messageOf(error)}`, {
        sent: true,
        cause: error,
      });
    }
  }

  async #get(signal: AbortSignal, lastId: string | undefined): Promise<Response> {
    const headers = lastId === undefined ? {} : { "last-event-id": lastId };
    const response = await this.#request("GET", signal, { headers: { accept: eventStreamType, ...headers } });
    if (response.ok) return response;
    const { error, text } = await this.#http.failure(response);
    if (lastId !== undefined || this.hears) this.#refuseDeadSession(error, text);
    throw error;
  }

  async #request(
    method: "GET" | "POST" | "DELETE",
    signal: AbortSignal,
    { headers = {}, body }: { readonly headers?: Readonly<Record<string, string>>; readonly body?: string } = {},
  ): Promise<Response> {
    const session = this.#sessionId === undefined ? {} : { "mcp-session-id": this.#sessionId };
    const version = this.#version === undefined ? {} : { "mcp-protocol-version": this.#version };
    try {
      return await this.#http.request({ method, signal, body, headers: { ...headers, ...session, ...version } });
    } catch (error) {
      // Nobody listens there: whoever else is in flight need not wait. Later, so that this request says itself what happened.
      if (error instanceof ConnectionLostError && !error.sent) setImmediate(() => this.#end(error));
      throw error;
    }
  }

  /** 404 says that a session is over; some servers say it with 400. */
  #refuseDeadSession(error: HttpStatusError, text: string): void {
    if (this.#sessionId === undefined) return;
    if (error.status !== 404 && !(error.status === 400 && /session/i.test(text))) return;
    const lost = new ConnectionLostError(`the server no longer knows the session (${error.status})`, {
      sent: false,
      cause: error,
    });
    this.#sessionId = undefined;
    setImmediate(() => this.#end(lost));
    throw lost;
  }

  #deliver(text: string, look?: (message: RpcMessage) => void): void {
    const messages = parseMessages(text);
    if (messages === undefined)
      this.#events?.warning(`It sent what is no message: ${JSON.stringify(text.slice(0, 200))}`);
    for (const message of messages ?? []) {
      look?.(message);
      this.#events?.message(message);
    }
  }

  #end(error: Error): void {
    if (!this.#open) return;
    this.#open = false;
    this.#stop();
    this.#events?.closed(error);
  }

  #stop(): void {
    this.#abort.abort();
    for (const post of this.#posts.values()) post.abort();
  }

  async #dispose(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#stop();
    if (this.#sessionId === undefined) return;
    try {
      await discard(await this.#request("DELETE", AbortSignal.timeout(deleteTimeoutMs)));
    } catch {
      // The server forgets the session in its own time.
    }
  }
}

/** What says itself what it is; anything else broke an answer off. */
function isOurs(error: unknown): boolean {
  return [ConnectionLostError, HttpStatusError, NotMcpError, ToolkitError].some((type) => error instanceof type);
}
