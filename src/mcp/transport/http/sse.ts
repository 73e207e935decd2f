import { ConnectionLostError } from "../../rpc/error.ts";
import { parseMessages, type RpcMessage } from "../../rpc/message.ts";
import type { Transport, TransportEvents } from "../transport.ts";
import { discard, HttpClient, type HttpParameters } from "./http-client.ts";
import { mediaTypeOf, NotMcpError } from "./status.ts";

/**
 * The transport of 2024: one event stream brings everything, its first event names where to POST. The session is the stream: when
 * it ends, so does the connection.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
export class SseTransport implements Transport {
  readonly name = "sse";
  readonly #url: URL;
  readonly #http: HttpClient;
  readonly #abort = new AbortController();
  readonly #endpointFound = Promise.withResolvers<void>();
  #events: TransportEvents | undefined;
  #endpoint: URL | undefined;
  #version: string | undefined;
  #open = true;

  constructor(parameters: HttpParameters) {
    this.#url = parameters.url;
    this.#http = new HttpClient(parameters);
  }

  async start(events: TransportEvents, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted();
    this.#events = events;
    const abort = () => this.#abort.abort(signal.reason);
    signal.addEventListener("abort", abort);
    try {
      const response = await this.#connect();
      this.#read(response).catch((error: Error) => this.#end(error));
      await this.#endpointFound.promise;
    } catch (error) {
      this.#stop();
      throw error;
    } finally {
      signal.removeEventListener("abort", abort);
    }
  }

  negotiated(protocolVersion: string): void {
    this.#version = protocolVersion;
  }

  send(message: RpcMessage): Promise<void> {
    const endpoint = this.#endpoint;
    if (!this.#open || endpoint === undefined)
      throw new ConnectionLostError("the connection was closed", { sent: false });
    return this.#post(endpoint, message);
  }

  async close(): Promise<void> {
    this.#stop();
  }

  async #connect(): Promise<Response> {
    const response = await this.#http.request({
      method: "GET",
      headers: { accept: "text/event-stream" },
      signal: this.#abort.signal,
    });
    if (!response.ok) throw (await this.#http.failure(response)).error;
    const type = mediaTypeOf(response);
    if (type === "text/event-stream") return response;
    await discard(response);
    throw new NotMcpError(`answered ${type === "" ? "without a content type" : type}: this is no MCP endpoint`);
  }

  async #read(response: Response): Promise<void> {
    let failure: Error | undefined;
    try {
      await this.#http.events(response, {
        event: ({ type, data }) => {
          if (type === "endpoint") this.#found(data);
          else if (type === "message") this.#deliver(data);
        },
      });
    } catch (error) {
      failure = error as Error;
    }
    this.#end(
      new Error(
        failure === undefined ? "the server ended the event stream" : `the event stream broke: ${failure.message}`,
      ),
    );
  }

  #found(data: string): void {
    const endpoint = URL.canParse(data, this.#url.href) ? new URL(data, this.#url) : undefined;
    if (endpoint === undefined || endpoint.origin !== this.#url.origin) {
      this.#end(new NotMcpError("named an endpoint that is not of its own origin"));
      return;
    }
    // Another endpoint is another session, which knows nothing of ours.
    if (this.#endpoint !== undefined && this.#endpoint.href !== endpoint.href) {
      this.#end(new Error("the server began another session on the same stream"));
      return;
    }
    this.#endpoint = endpoint;
    this.#endpointFound.resolve();
  }

  #deliver(data: string): void {
    const messages = parseMessages(data);
    if (messages === undefined)
      this.#events?.warning(`It sent what is no message: ${JSON.stringify(data.slice(0, 200))}`);
    else for (const message of messages) this.#events?.message(message);
  }

  async #post(url: URL, message: RpcMessage): Promise<void> {
    const version = this.#version === undefined ? {} : { "mcp-protocol-version": this.#version };
    const response = await this.#http.request({
      method: "POST",
      url,
      headers: { "content-type": "application/json", ...version },
      body: JSON.stringify(message),
      signal: this.#abort.signal,
    });
    if (response.ok) return discard(response);
    const { error } = await this.#http.failure(response);
    if (error.status !== 404) throw error;
    const lost = new ConnectionLostError("the server no longer knows the session (404)", { sent: false, cause: error });
    setImmediate(() => this.#end(lost));
    throw lost;
  }

  #end(error: Error): void {
    this.#endpointFound.promise.catch(() => {});
    this.#endpointFound.reject(error);
    if (!this.#open) return;
    this.#stop();
    this.#events?.closed(error);
  }

  #stop(): void {
    this.#open = false;
    this.#abort.abort();
  }
}
