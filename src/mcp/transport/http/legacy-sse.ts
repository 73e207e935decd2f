import { ConnectionLostError } from "../../rpc/rpc-error.ts";
import { parseMessages, type RpcId, type RpcMessage } from "../../rpc/rpc-message.ts";
import type { OddTexts } from "../odd-texts.ts";
import type { RequestOwner, Transport, TransportEvents } from "../transport.ts";
import { exchangeFailure, NotMcpError, notMcp } from "./http-error.ts";
import { eventStreamType, exchange, jsonType, type McpEndpoint, networkOf, oddTextsOf } from "./http-exchange.ts";

/**
 * The transport of 2024: one event stream brings everything, its first event names where to POST. The session is the stream: opened
 * again it would belong to a session that knows nothing of this one, so its end is the end of the connection.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
export class LegacySseTransport implements Transport {
  readonly name = "sse";
  // As for Streamable HTTP: a socket may be open at this end only.
  readonly silenceMs = 5_000;
  readonly #endpoint: McpEndpoint;
  readonly #oddTexts: OddTexts;
  readonly #abort = new AbortController();
  readonly #started = Promise.withResolvers<void>();
  /** The callers of requests that are not answered yet. */
  readonly #owners = new Map<RpcId, RequestOwner>();
  #events: TransportEvents | undefined;
  #postUrl: URL | undefined;
  #protocolVersion: string | undefined;
  #isOpen = true;

  constructor(endpoint: McpEndpoint) {
    this.#endpoint = endpoint;
    this.#oddTexts = oddTextsOf(endpoint);
  }

  get network(): Readonly<Record<string, string | number>> {
    return networkOf(this.#endpoint.url);
  }

  async start(events: TransportEvents, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted();
    this.#events = events;
    const onAbort = () => this.#started.reject(signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      void this.#run();
      await this.#started.promise;
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  negotiated(protocolVersion: string): void {
    this.#protocolVersion = protocolVersion;
  }

  async send(message: RpcMessage, owner?: RequestOwner): Promise<void> {
    const { id, method } = message;
    if (!this.#isOpen || this.#postUrl === undefined) {
      throw new ConnectionLostError("the connection was closed", { sent: false });
    }
    if (owner !== undefined && id !== undefined && id !== null && method !== undefined) this.#owners.set(id, owner);
    // A notification about a request belongs to the caller of that.
    const { requestId } = (message.params ?? {}) as { readonly requestId?: RpcId };
    const about = owner ?? (requestId === undefined ? undefined : this.#owners.get(requestId));
    try {
      await this.#post(this.#postUrl, JSON.stringify(message), about);
    } catch (error) {
      this.forget(id);
      throw exchangeFailure(error, "the request broke off", this.#endpoint.redactor);
    }
  }

  forget(id: RpcMessage["id"]): void {
    if (id !== undefined && id !== null) this.#owners.delete(id);
  }

  async close(): Promise<void> {
    this.#isOpen = false;
    this.#abort.abort();
  }

  async #post(url: URL, body: string, owner: RequestOwner | undefined): Promise<void> {
    const headers = this.#headers({ "content-type": jsonType });
    const request = { url, method: "POST", headers, body, signal: this.#abort.signal };
    const answer = await exchange(this.#endpoint, request, owner);
    if (answer.kind !== "refused") return answer.discard();
    const error = (await answer.refusal()).toError();
    if (error.status !== 404) throw error;
    const lost = new ConnectionLostError("the server no longer knows the session (404)", { sent: false, cause: error });
    setImmediate(() => this.#end(lost));
    throw lost;
  }

  /** Opens the stream, and handles its events to its end. */
  async #run(): Promise<void> {
    try {
      const headers = this.#headers({ accept: eventStreamType });
      const request = { url: this.#endpoint.url, method: "GET", headers, signal: this.#abort.signal };
      const answer = await exchange(this.#endpoint, request);
      if (answer.kind === "refused") throw (await answer.refusal()).toError();
      if (answer.kind !== "events") {
        answer.discard();
        throw notMcp(answer.mediaType, this.#endpoint.redactor);
      }
      await answer.events({ event: (type, data) => this.#event(type, data) });
      this.#end(new Error("the server ended the event stream"));
    } catch (error) {
      this.#end(exchangeFailure(error, "the event stream broke", this.#endpoint.redactor) as Error);
    }
  }

  #event(type: string, data: string): void {
    if (type === "endpoint") this.#begin(data);
    else if (type === "message") this.#deliver(data);
  }

  #begin(path: string): void {
    // Another endpoint is another session, which knows nothing of this one.
    if (this.#postUrl !== undefined) throw new NotMcpError("the server began another session on the same stream");
    const { url, redactor } = this.#endpoint;
    const postUrl = URL.parse(path, url.href);
    if (postUrl === null) throw new NotMcpError(`named an endpoint that is no URL: ${redactor.text(path)}`);
    if (postUrl.origin !== url.origin) throw new NotMcpError("named an endpoint that is not of its own origin");
    this.#postUrl = postUrl;
    this.#started.resolve();
  }

  #deliver(text: string): void {
    const messages = parseMessages(text);
    const warning = messages === undefined ? this.#oddTexts.warningOf(text) : undefined;
    if (warning !== undefined) this.#events?.warning(warning);
    for (const message of messages ?? []) {
      if (message.method === undefined) this.forget(message.id);
      this.#events?.message(message);
    }
  }

  #headers(own: Readonly<Record<string, string>>): Record<string, string> {
    const version = this.#protocolVersion;
    const versioned = version === undefined ? {} : { "mcp-protocol-version": version };
    return { ...versioned, ...this.#endpoint.headers, ...own };
  }

  #end(error: Error): void {
    this.#started.reject(error);
    if (!this.#isOpen) return;
    void this.close();
    this.#events?.closed(error);
  }
}
