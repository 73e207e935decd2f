import { messageOf } from "../../../core/error.ts";
import { ConnectionLostError } from "../../rpc/rpc-error.ts";
import { parseMessages, type RpcId, type RpcMessage } from "../../rpc/rpc-message.ts";
import type { OddTexts } from "../odd-texts.ts";
import type { RequestOwner, Transport, TransportEvents } from "../transport.ts";
import { exchangeFailure, namedStatuses } from "./http-error.ts";
import {
  type EndpointRequest,
  eventStreamType,
  exchange,
  type HttpAnswer,
  jsonType,
  type McpEndpoint,
  networkOf,
  oddTextsOf,
  type RefusedAnswer,
} from "./http-exchange.ts";
import { NotificationStream } from "./notification-stream.ts";
import { DrainThenClose, PostedRequest, type PostedRequestParts } from "./posted-request.ts";

const sessionHeader = "mcp-session-id";
const deleteTimeoutMs = 1_000;
// Its answer goes to no caller.
const probeId = "probe";

/**
 * Streamable HTTP of the revisions with sessions: each message is a POST of its own, whose answer is a JSON message or a stream of events
 * that may be resumed; notifications come by a GET stream. It notices an answer that ends without a result, a session the server no
 * longer knows, a server that is down, and gaps in the notifications.
 *
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#streamable-http
 */
export class StreamableHttpTransport implements Transport {
  readonly name = "streamable-http";
  // A server that vanished leaves a socket that is open at this end.
  readonly silenceMs = 5_000;
  readonly #endpoint: McpEndpoint;
  readonly #oddTexts: OddTexts;
  readonly #abort = new AbortController();
  readonly #requests = new Map<RpcId, PostedRequest>();
  readonly #requestParts: PostedRequestParts;
  readonly #stream: NotificationStream;
  readonly #drain = new DrainThenClose((error) => this.#end(error));
  #events: TransportEvents | undefined;
  #sessionId: string | undefined;
  #protocolVersion: string | undefined;
  #headers: Readonly<Record<string, string>> = {};
  #postHeaders: Readonly<Record<string, string>> = {};
  #isOpen = true;
  #closing: Promise<void> | undefined;

  constructor(endpoint: McpEndpoint) {
    this.#endpoint = endpoint;
    this.#oddTexts = oddTextsOf(endpoint);
    this.#updateHeaders();
    this.#requestParts = {
      endpoint,
      deliver: this.#deliver,
      resume: (lastId, request) => this.#resume(lastId, request),
    };
    this.#stream = new NotificationStream({
      signal: this.#abort.signal,
      request: (lastId) => this.#get(lastId, this.#abort.signal),
      refused: (answer) => this.#streamRefused(answer),
      deliver: this.#deliver,
      gap: () => this.#events?.gap(),
      failed: (error) => this.#endSoon(error),
    });
  }

  get hasNotifications(): boolean {
    return this.#stream.isOpen;
  }

  get network(): Readonly<Record<string, string | number>> {
    const network = networkOf(this.#endpoint.url);
    return this.#sessionId === undefined ? network : { ...network, "mcp.session.id": this.#sessionId };
  }

  async start(events: TransportEvents): Promise<void> {
    this.#events = events;
  }

  negotiated(protocolVersion: string): void {
    this.#protocolVersion = protocolVersion;
    this.#updateHeaders();
  }

  ready(initialized: Promise<void>): Promise<void> {
    return this.#stream.open(initialized);
  }

  send(message: RpcMessage, owner?: RequestOwner): Promise<void> {
    if (!this.#isOpen) throw new ConnectionLostError("the connection was closed", { sent: false });
    const lost = this.#drain.error;
    if (lost !== undefined) throw new ConnectionLostError(lost.message, { sent: false, cause: lost });
    const { id, method } = message;
    return id === undefined || id === null || method === undefined
      ? this.#notify(message)
      : this.#request(message, new PostedRequest(id, owner, this.#requestParts));
  }

  forget(id: RpcId): void {
    this.#requests.get(id)?.abort.abort();
  }

  close(): Promise<void> {
    this.#closing ??= this.#dispose();
    return this.#closing;
  }

  async #notify(message: RpcMessage): Promise<void> {
    try {
      // A notification about a request belongs to the caller of that.
      const { requestId } = (message.params ?? {}) as { readonly requestId?: RpcId };
      const owner = requestId === undefined ? undefined : this.#requests.get(requestId)?.owner;
      const answer = await this.#post(message, this.#abort.signal, owner);
      if (typeof answer !== "string") answer.discard();
    } catch (error) {
      throw this.#failure(error);
    }
  }

  /** Sends a request, and delivers its answer. */
  async #request(message: RpcMessage, request: PostedRequest): Promise<void> {
    const { id, owner, abort } = request;
    this.#requests.set(id, request);
    try {
      await request.read(await this.#post(message, abort.signal, owner));
    } catch (error) {
      if (abort.signal.aborted) throw error;
      const failure = this.#failure(error);
      if (failure instanceof ConnectionLostError && failure.sent && id !== probeId) this.#probe();
      throw failure;
    } finally {
      this.#requests.delete(id);
    }
  }

  async #resume(lastId: string, { abort, owner }: PostedRequest): Promise<HttpAnswer> {
    let answer: HttpAnswer;
    try {
      answer = await this.#get(lastId, abort.signal, owner);
    } catch (error) {
      if (abort.signal.aborted) throw error;
      // Whatever became of this request, the one it was to resume was sent.
      const { redactor } = this.#endpoint;
      throw notResumed(redactor.text(messageOf(error)), redactor.error(error));
    }
    if (answer.kind === "events") return answer;
    answer.discard();
    throw notResumed(`the server answered ${answer.status}`);
  }

  /** Resolves when the answer begins; with the text of one that is an error of JSON-RPC under a status of its own. */
  async #post(message: RpcMessage, signal: AbortSignal, owner: RequestOwner | undefined): Promise<HttpAnswer | string> {
    this.#drain.sending += 1;
    try {
      const request = { method: "POST", headers: this.#postHeaders, body: JSON.stringify(message), signal };
      const answer = await this.#exchange(request, owner);
      if (answer.kind === "refused") return await this.#refused(answer, message.id);
      const sessionId = answer.header(sessionHeader);
      if (sessionId !== undefined && sessionId !== this.#sessionId) {
        this.#sessionId = sessionId;
        this.#updateHeaders();
      }
      return answer;
    } finally {
      this.#drain.sending -= 1;
      if (this.#drain.error !== undefined) this.#drain.settled();
    }
  }

  #get(lastId: string | undefined, signal: AbortSignal, owner?: RequestOwner): Promise<HttpAnswer> {
    const last: Readonly<Record<string, string>> = lastId === undefined ? {} : { "last-event-id": lastId };
    return this.#exchange(
      { method: "GET", headers: { ...this.#headers, accept: eventStreamType, ...last }, signal },
      owner,
    );
  }

  async #exchange(request: Omit<EndpointRequest, "url">, owner: RequestOwner | undefined): Promise<HttpAnswer> {
    try {
      return await exchange(this.#endpoint, { ...request, url: this.#endpoint.url }, owner);
    } catch (error) {
      // No process listens there: requests in flight need not wait.
      if (error instanceof ConnectionLostError && !error.sent) this.#endSoon(error);
      throw error;
    }
  }

  #updateHeaders(): void {
    this.#headers = {
      ...(this.#sessionId === undefined ? {} : { [sessionHeader]: this.#sessionId }),
      ...(this.#protocolVersion === undefined ? {} : { "mcp-protocol-version": this.#protocolVersion }),
      ...this.#endpoint.headers,
    };
    // Once for all messages, which differ in nothing but their bodies.
    this.#postHeaders = { ...this.#headers, "content-type": jsonType, accept: `${jsonType}, ${eventStreamType}` };
  }

  readonly #deliver = (text: string, request?: PostedRequest): void => {
    const messages = parseMessages(text);
    const warning = messages === undefined ? this.#oddTexts.warningOf(text) : undefined;
    if (warning !== undefined) this.#events?.warning(warning);
    for (const message of messages ?? []) {
      request?.received(message);
      this.#events?.message(message, request?.id);
    }
  };

  /** Some servers answer an error of JSON-RPC with a status of its own: its text is given. @throws for every other refusal */
  async #refused(answer: HttpAnswer, id: RpcMessage["id"]): Promise<string> {
    const refusal = await answer.refusal();
    this.#rejectDeadSession(answer.status, refusal);
    const [message] = parseMessages(refusal.text) ?? [];
    const isAnswer = message?.error !== undefined && message.id === id && id !== undefined;
    if (isAnswer && !namedStatuses.has(answer.status)) return refusal.text;
    throw refusal.toError();
  }

  async #streamRefused(answer: HttpAnswer): Promise<never> {
    const refusal = await answer.refusal();
    this.#rejectDeadSession(answer.status, refusal);
    throw new Error("the server no longer offers its event stream", { cause: refusal.toError() });
  }

  /** 404 says that a session is over; some servers say it with 400. */
  #rejectDeadSession(status: number, { text, toError }: RefusedAnswer): void {
    if (this.#sessionId === undefined) return;
    if (status !== 404 && !(status === 400 && /session/i.test(text))) return;
    const message = `the server no longer knows the session (${status})`;
    const lost = new ConnectionLostError(message, { sent: false, cause: toError() });
    this.#endSoon(lost);
    throw lost;
  }

  #failure(error: unknown): unknown {
    return this.#isOpen ? exchangeFailure(error, "the answer broke off", this.#endpoint.redactor) : error;
  }

  /** Asks, after a connection broke, whether the server is still there. If it is not, this ends the session. */
  #probe(): void {
    if (!this.#isOpen || this.#drain.error !== undefined || this.#requests.has(probeId)) return;
    this.send({ jsonrpc: "2.0", id: probeId, method: "ping" }).catch(() => {});
  }

  #endSoon(error: Error): void {
    if (this.#isOpen) this.#drain.begin(error);
  }

  #end(error: Error): void {
    if (!this.#isOpen) return;
    this.#stop();
    this.#events?.closed(error);
  }

  #stop(): void {
    this.#isOpen = false;
    this.#drain.stop();
    this.#abort.abort();
    for (const { abort } of this.#requests.values()) abort.abort();
  }

  async #dispose(): Promise<void> {
    if (!this.#isOpen) return;
    this.#stop();
    if (this.#sessionId === undefined) return;
    const signal = AbortSignal.timeout(deleteTimeoutMs);
    try {
      (await this.#exchange({ method: "DELETE", headers: this.#headers, signal }, undefined)).discard();
    } catch {
      // The server forgets the session in its own time.
    }
  }
}

function notResumed(why: string, cause?: unknown): ConnectionLostError {
  return new ConnectionLostError(`the answer broke off and cannot be resumed: ${why}`, { sent: true, cause });
}
