import type { IncomingHttpHeaders } from "node:http";
import { createRequire } from "node:module";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { ConnectionOptions } from "node:tls";
import type { buildConnector, Dispatcher } from "undici";
import { acceptedCodings, codingsOf, decoded } from "./decoding.ts";

/** Certificates to trust and to present: options of `tls.connect`. */
export type TlsOptions = Pick<
  ConnectionOptions,
  "ca" | "cert" | "key" | "passphrase" | "pfx" | "rejectUnauthorized" | "servername"
>;

/** Options of an HTTP client. */
export interface HttpClientOptions {
  /** The time an unused connection is kept for the next request, in milliseconds; less where the server says so. Default: 4,000. */
  readonly idleMs?: number | undefined;
  /** The time a connection may take to come about, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** For HTTPS: certificates to trust and to present. Default: those that Node trusts, and none. */
  readonly tls?: TlsOptions | undefined;
}

/** One request as it goes over the wire. */
export interface HttpRequest {
  readonly url: URL;
  readonly method: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The head of an answer whose body is still to be read, or discarded. */
export interface HttpResponse {
  readonly status: number;
  readonly statusText: string;
  /** A header by its name in lower case; several of a name are joined. */
  header(name: string): string | undefined;
  /**
   * Passes the body on as it comes, decoded, to its end. Once.
   *
   * @throws the signal's reason; the error that broke it off; what `take` throws, which ends the exchange
   */
  read(take: (chunk: Uint8Array) => void): Promise<void>;
  /** Ends an exchange whose body is not read to its end. A connection whose answer is complete is kept. */
  discard(): void;
}

/** An answer of a client, for an object of the platform. */
export interface ClientResponse extends HttpResponse {
  readonly headers: IncomingHttpHeaders;
  /** Makes the server wait. */
  pause(): void;
  resume(): void;
}

/** Sends one request, redirects not followed. @throws HttpSendError; the signal's reason */
export type HttpSend = (request: HttpRequest) => Promise<HttpResponse>;

/** A request has no answer. Its cause says why, with Node's or undici's code. */
export class HttpSendError extends Error {
  override readonly name = "HttpSendError";
  /** False where the request surely never left, so that it is safe to send it again. */
  readonly sent: boolean;

  constructor(cause: unknown, { sent }: { readonly sent: boolean }) {
    super("the request failed", { cause });
    this.sent = sent;
  }
}

/** The headers of every request, unless it says otherwise. */
export const clientHeaders = { "user-agent": "node", "accept-encoding": acceptedCodings };

type Connector = (options: buildConnector.Options, callback: buildConnector.Callback) => Socket;
type Undici = typeof import("undici");

// Of undici only what sends is loaded, when a client is made: its index takes three times as long.
const load = createRequire(import.meta.url);
/** Methods that come to the same when they are sent twice (RFC 9110, section 9.2.2). */
const idempotent: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"]);
const closedCodes: ReadonlySet<unknown> = new Set(["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"]);
// The system takes so much of a request as a whole, or refuses it.
const wholeBytes = 16 * 1024;
// Each time one connection less is left that the server may have closed.
const maxRepeats = 3;
// So much of a body is held for a reader that has not begun.
const earlyBytes = 64 * 1024;

/**
 * HTTP/1.1 over connections that are kept and used again, by undici. It has no cookies, no cache, and no limit of its own for an answer
 * that takes its time: that is the signal's. Unused connections keep no process alive.
 */
export class HttpClient {
  readonly dispatcher: Dispatcher;
  readonly #connecting = new Set<Socket>();
  #waiting = 0;
  /** True while a new connection, or the reason why there is none, is handed over to the requests that wait for it. */
  isFresh = false;

  constructor({ idleMs = 4_000, connectTimeoutMs = 10_000, tls }: HttpClientOptions = {}) {
    const secure = { ...tls, timeout: connectTimeoutMs };
    const options = {
      connect: this.#connector(load("undici/lib/core/connect.js")(secure)),
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: idleMs,
    };
    // Node's own fetch heeds the proxy variables where this is set; so does this one.
    if (process.env.NODE_USE_ENV_PROXY === "1") {
      const { EnvHttpProxyAgent }: Undici = load("undici");
      this.dispatcher = new EnvHttpProxyAgent({ ...options, requestTls: secure, proxyTls: secure, proxyTunnel: false });
    } else {
      const Agent: Undici["Agent"] = load("undici/lib/dispatcher/agent.js");
      this.dispatcher = new Agent(options);
    }
  }

  /** Sends a request; again where it met a connection that the server had closed, and nothing can be done twice by that. */
  readonly send = async (request: HttpRequest): Promise<ClientResponse> => {
    for (let repeats = 0; ; repeats += 1) {
      request.signal?.throwIfAborted();
      const exchange = new Exchange(request, this);
      try {
        return await exchange.answered;
      } catch (error) {
        if (repeats === maxRepeats || !exchange.mayRepeat(error)) throw error;
      }
    }
  };

  /** One request more, or less, waits for a connection. Connecting ends where none is left: undici has no abort for it. */
  waits(change: 1 | -1): void {
    this.#waiting += change;
    if (this.#waiting > 0) return;
    for (const socket of this.#connecting) socket.destroy(new Error("no request waits for this connection"));
  }

  #connector(connect: Connector): buildConnector.connector {
    return (options, callback) => {
      const socket = connect(options, (...result) => {
        this.#connecting.delete(socket);
        this.isFresh = true;
        // A request that waits for it is sent within.
        callback(...result);
        this.isFresh = false;
      });
      this.#connecting.add(socket);
    };
  }
}

/** One request on one connection, and its answer: the handler that undici reports to. */
class Exchange implements ClientResponse, Dispatcher.DispatchHandler {
  status = 0;
  statusText = "";
  headers: IncomingHttpHeaders = {};
  readonly answered: Promise<ClientResponse>;
  readonly #request: HttpRequest;
  readonly #client: HttpClient;
  readonly #answer = Promise.withResolvers<ClientResponse>();
  #body: PromiseWithResolvers<void> | undefined;
  #take: ((chunk: Uint8Array) => void) | undefined;
  #controller: Dispatcher.DispatchController | undefined;
  #paused: PromiseWithResolvers<void> | undefined;
  #reused = false;
  #early: Uint8Array[] = [];
  #earlySize = 0;
  #over = false;
  #error: unknown;

  constructor(request: HttpRequest, client: HttpClient) {
    const { url, method, headers, body, signal } = request;
    this.#request = request;
    this.#client = client;
    this.answered = this.#answer.promise;
    client.waits(1);
    signal?.addEventListener("abort", this.#abort);
    const path = url.search === "" ? url.pathname : url.pathname + url.search;
    const options = { origin: url.origin, path, method: method as Dispatcher.HttpMethod, headers, body: body ?? null };
    try {
      // Said again for a proxy, which gives its own connections undici's defaults.
      client.dispatcher.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, this);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** True where the server had closed the connection before, and nothing is done twice by sending the request again. */
  mayRepeat(error: unknown): boolean {
    if (!(error instanceof HttpSendError) || !this.#reused) return false;
    const { code, syscall } = error.cause as NodeJS.ErrnoException;
    if (!closedCodes.has(code)) return false;
    const { method, body = "" } = this.#request;
    // A request the system refused to write was not sent. One it wrote may have been read, even where no answer came.
    return !error.sent || idempotent.has(method) || (syscall === "write" && body.length <= wholeBytes);
  }

  header(name: string): string | undefined {
    const value = this.headers[name];
    return Array.isArray(value) ? value.join(", ") : value;
  }

  read(take: (chunk: Uint8Array) => void): Promise<void> {
    const coding = this.headers["content-encoding"];
    return coding === undefined ? this.#read(take) : this.#readDecoded(codingsOf(coding), take);
  }

  pause(): void {
    this.#paused ??= Promise.withResolvers();
    this.#controller?.pause();
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = undefined;
    this.#controller?.resume();
  }

  discard(): void {
    this.#take = undefined;
    this.#early = [];
    if (!this.#over) this.#end(new Error("the answer was discarded"));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    const isFirst = this.#controller === undefined;
    this.#controller = controller;
    this.#reused = !this.#client.isFresh;
    if (this.#over) controller.abort(new Error("the request was aborted"));
    else if (isFirst) this.#client.waits(-1);
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
    statusText = "",
  ): void {
    if (status < 200) return;
    this.status = status;
    this.statusText = statusText;
    this.headers = headers;
    this.#answer.resolve(this);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    if (this.#over) return;
    if (this.#take !== undefined) this.#pass(chunk);
    else {
      this.#early.push(chunk);
      this.#earlySize += chunk.length;
      if (this.#earlySize > earlyBytes) this.#controller?.pause();
    }
  }

  onResponseEnd(): void {
    this.#finish();
    this.#body?.resolve();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(error);
  }

  #read(take: (chunk: Uint8Array) => void): Promise<void> {
    this.#take = take;
    this.#body = Promise.withResolvers();
    const early = this.#early;
    this.#early = [];
    for (const chunk of early) this.#pass(chunk);
    if (this.#error !== undefined) this.#body.reject(this.#error);
    else if (this.#over) this.#body.resolve();
    else this.#controller?.resume();
    return this.#body.promise;
  }

  async #readDecoded(codings: readonly string[], take: (chunk: Uint8Array) => void): Promise<void> {
    if (codings.length === 0) return this.#read(take);
    const source = new Readable({ read: () => this.#controller?.resume() });
    const reading = this.#read((chunk) => {
      if (!source.push(chunk)) this.#controller?.pause();
    });
    reading.then(
      () => source.push(null),
      (error) => source.destroy(error),
    );
    try {
      for await (const chunk of await decoded(source, codings)) {
        take(chunk);
        await this.#paused?.promise;
      }
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  #pass(chunk: Uint8Array): void {
    try {
      this.#take?.(chunk);
    } catch (error) {
      this.#end(error);
    }
  }

  readonly #abort = (): void => this.#end(this.#request.signal?.reason);

  /** Ends it from this side. */
  #end(reason: unknown): void {
    this.#fail(reason);
    this.#controller?.abort(reason instanceof Error ? reason : new Error("aborted"));
  }

  #fail(error: unknown): void {
    if (this.#error !== undefined) return;
    this.#take = undefined;
    this.#paused?.resolve();
    this.#error = error;
    const { signal } = this.#request;
    const sent = this.#controller !== undefined;
    if (!sent) this.#reused = !this.#client.isFresh;
    if (!sent && !this.#over) this.#client.waits(-1);
    this.#finish();
    this.#answer.reject(signal?.aborted === true ? signal.reason : new HttpSendError(error, { sent }));
    this.#body?.reject(error);
  }

  #finish(): void {
    this.#over = true;
    this.#request.signal?.removeEventListener("abort", this.#abort);
  }
}
