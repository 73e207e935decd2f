import { createRequire } from "node:module";
import type { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { buildConnector, Dispatcher } from "undici";
import { type ClientConnections, type ClientResponse, Exchange, type HttpRequest } from "./client-exchange.ts";

/** Certificates to trust and to present: options of `tls.connect`. */
export type TlsOptions = Pick<
  ConnectionOptions,
  "ca" | "cert" | "key" | "passphrase" | "pfx" | "rejectUnauthorized" | "servername"
>;

/** Options of the connections of a `nodeFetch`. */
export interface NodeFetchOptions {
  /** The time an unused connection is kept for the next request, in milliseconds; less where the server says so. Default: 4,000. */
  readonly idleMs?: number | undefined;
  /** The time a connection may take to come about, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** For HTTPS: certificates to trust and to present. Default: those that Node trusts, and none. */
  readonly tls?: TlsOptions | undefined;
}

type Connector = (options: buildConnector.Options, callback: buildConnector.Callback) => Socket;
type Undici = typeof import("undici");

// Of undici only what sends is loaded, when a client is made: its index takes three times as long.
const load = createRequire(import.meta.url);
// Each time one connection less is left that the server may have closed.
const maxRepeats = 3;

/**
 * HTTP/1.1 over connections that are kept and used again, by undici. It has no cookies, no cache, and no limit of its own for an answer
 * that takes its time: that is the signal's. Unused connections keep no process alive.
 */
export class HttpClient implements ClientConnections {
  readonly dispatcher: Dispatcher;
  readonly #connecting = new Set<Socket>();
  #waiting = 0;
  isFresh = false;

  constructor({ idleMs = 4_000, connectTimeoutMs = 10_000, tls }: NodeFetchOptions = {}) {
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

  /** Connecting ends where no request waits any more: undici has no abort for it. */
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
