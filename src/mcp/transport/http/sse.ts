import { SSEClientTransport as SdkTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { messageOf, ToolkitError } from "../../../core/error.ts";
import { ConnectionLostError } from "../../rpc/error.ts";
import type { RequestId, RpcMessage } from "../../rpc/message.ts";
import type { Caller, Transport, TransportEvents } from "../transport.ts";
import { discard, errorText, fetchOnce, type HttpParameters, networkOf } from "./network.ts";
import { subjectOf } from "./post.ts";
import { HttpStatusError, mediaTypeOf, NotMcpError, notMcp, statusError } from "./status.ts";
import { watchedBody } from "./watched-body.ts";

/**
 * The transport of 2024 by the SDK: one event stream brings everything, its first event names where to POST. The session is the
 * stream: the SDK would open it again, to a session that knows nothing of ours, so its end is the end of the connection.
 *
 * @see https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse
 */
export class SseTransport implements Transport {
  readonly name = "sse";
  // As for Streamable HTTP: a socket may be open at this end only.
  readonly silenceMs = 5_000;
  readonly #parameters: HttpParameters;
  readonly #sdk: SdkTransport;
  readonly #abort = new AbortController();
  readonly #failed = Promise.withResolvers<never>();
  /** Of the requests that are not answered yet. */
  readonly #callers = new Map<RequestId, Caller>();
  #events: TransportEvents | undefined;
  #endpoints = 0;
  #started = false;
  #open = true;

  constructor(parameters: HttpParameters) {
    this.#parameters = parameters;
    this.#failed.promise.catch(() => {});
    this.#sdk = new SdkTransport(parameters.url, {
      requestInit: { headers: { ...parameters.headers } },
      fetch: (url, init = {}) => (init.method === "POST" ? this.#post(url, init) : this.#openStream(url, init)),
    });
  }

  get network(): Readonly<Record<string, string | number>> {
    return networkOf(this.#parameters.url);
  }

  async start(events: TransportEvents, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    signal.throwIfAborted();
    this.#events = events;
    this.#sdk.onmessage = (given) => {
      const message = given as RpcMessage;
      if (message.method === undefined) this.forget(message.id);
      events.message(message);
    };
    this.#sdk.onerror = (error) => {
      // Its message quotes a piece of the text, and a piece of a secret would not be found.
      if (error instanceof SyntaxError) events.warning("It sent what is no message: it is not valid JSON.");
    };
    const onAbort = () => this.#failed.reject(signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      // The SDK's own error hides what our fetch threw.
      await Promise.race([this.#failed.promise, this.#sdk.start().catch((error) => this.#startFailure(error))]);
    } catch (error) {
      await this.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  negotiated(protocolVersion: string): void {
    this.#sdk.setProtocolVersion(protocolVersion);
  }

  send(message: RpcMessage, caller?: Caller): Promise<void> {
    if (!this.#open) throw new ConnectionLostError("the connection was closed", { sent: false });
    const { id } = message;
    if (caller !== undefined && id !== undefined && id !== null) this.#callers.set(id, caller);
    return this.#sdk.send(message as JSONRPCMessage).catch((error: unknown) => {
      this.forget(id);
      if (isOurs(error)) throw error;
      const { redactor } = this.#parameters;
      throw new ConnectionLostError(redactor.text(messageOf(error)), { sent: true, cause: redactor.error(error) });
    });
  }

  forget(id: RpcMessage["id"]): void {
    if (id !== undefined && id !== null) this.#callers.delete(id);
  }

  async close(): Promise<void> {
    this.#open = false;
    this.#abort.abort();
    await this.#sdk.close();
  }

  async #startFailure(error: unknown): Promise<never> {
    // Told by our own fetch a moment later, where it came from there.
    await new Promise((resolve) => setImmediate(resolve));
    const said = this.#parameters.redactor.text(messageOf(error));
    throw new NotMcpError(said.includes("origin") ? "named an endpoint that is not of its own origin" : said);
  }

  async #openStream(url: string | URL, init: RequestInit): Promise<Response> {
    if (this.#started) {
      this.#end(new Error("the event stream ended"));
      throw new Error("The stream is not opened again.");
    }
    try {
      const response = await fetchOnce(this.#parameters, url, { ...init, signal: this.#abort.signal });
      if (response.status >= 300 && response.status <= 399) return response;
      this.#started = true;
      if (!response.ok)
        throw statusError(
          response,
          await errorText(response, this.#parameters.maxMessageBytes),
          this.#parameters.redactor,
        );
      const type = mediaTypeOf(response);
      if (type === "text/event-stream") return this.#watched(response);
      await discard(response);
      throw notMcp(type, this.#parameters.redactor);
    } catch (error) {
      this.#failed.reject(error);
      throw error;
    }
  }

  #watched(response: Response): Response {
    return watchedBody(response, {
      maxMessageBytes: this.#parameters.maxMessageBytes,
      type: (type) => {
        // Another endpoint is another session, which knows nothing of ours.
        if (type === "endpoint" && ++this.#endpoints > 1) {
          this.#end(new Error("the server began another session on the same stream"));
        }
      },
      end: (error) => {
        if (error instanceof ToolkitError) this.#end(error);
        const why =
          error === undefined
            ? "the server ended the event stream"
            : `the event stream broke: ${this.#parameters.redactor.text(messageOf(error))}`;
        // What has been read goes first.
        setImmediate(() => this.#end(new Error(why)));
      },
    });
  }

  async #post(url: string | URL, init: RequestInit): Promise<Response> {
    const subject = subjectOf(init.body);
    const caller = subject === undefined ? undefined : this.#callers.get(subject);
    const response = await fetchOnce(this.#parameters, url, { ...init, signal: this.#abort.signal }, caller);
    if (response.ok || (response.status >= 300 && response.status <= 399)) return response;
    const error = statusError(
      response,
      await errorText(response, this.#parameters.maxMessageBytes),
      this.#parameters.redactor,
    );
    if (error.status !== 404) throw error;
    const lost = new ConnectionLostError("the server no longer knows the session (404)", { sent: false, cause: error });
    setImmediate(() => this.#end(lost));
    throw lost;
  }

  #end(error: Error): void {
    this.#failed.reject(error);
    if (!this.#open) return;
    void this.close();
    this.#events?.closed(error);
  }
}

function isOurs(error: unknown): boolean {
  return [ConnectionLostError, HttpStatusError, ToolkitError].some((type) => error instanceof type);
}
