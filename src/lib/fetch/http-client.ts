import type { Socket } from "node:net";
import type { ConnectionOptions } from "node:tls";
import type { buildConnector, Dispatcher } from "undici";
import { loadAgent, loadConnectorMaker, loadProxyAgent } from "../lazy-libraries.ts";
import {
  type ClientConnections,
  type ClientResponse,
  Exchange,
  type HttpRequest,
  HttpSendError,
} from "./client-exchange.ts";
import type { EgressPolicy } from "./egress-policy.ts";

/** Certificates to trust and to present: options of `tls.connect`. */
export type TlsOptions = Pick<
  ConnectionOptions,
  "ca" | "cert" | "key" | "passphrase" | "pfx" | "rejectUnauthorized" | "servername"
>;

/** Options of the connections of a `nodeFetch`. */
export interface NodeFetchOptions {
  /**
   * The time an unused connection is kept for the next request, in milliseconds; less where the server says so. Default: as the server says, up to
   * 30,000 and two seconds before, and 3,000 where it does not.
   */
  readonly idleMs?: number | undefined;
  /** The time a connection may take to come about, in milliseconds. Default: 10,000. */
  readonly connectTimeoutMs?: number | undefined;
  /** For HTTPS: certificates to trust and to present. Default: those that Node trusts, and none. */
  readonly tls?: TlsOptions | undefined;
}

// Many servers close after five seconds and do not say so. A request that meets the close may have been read: undici's margin, where they do say it.
const defaultIdleMs = 3_000;
// Of connections that their server says it keeps.
const maxIdleMs = 30_000;
// Each time one connection less is left that the server may have closed.
const maxRepeats = 3;

/**
 * HTTP/1.1 over connections that are kept and used again, by undici. It has no cookies, no cache, and no limit of its own for an answer
 * that takes its time: that is the signal's. Unused connections keep no process alive.
 */
export class HttpClient implements ClientConnections {
  readonly dispatcher: Dispatcher;
  readonly #options: NodeFetchOptions;
  readonly #egress: EgressPolicy | undefined;
  readonly #guarded = new WeakMap<EgressPolicy, HttpClient>();
  readonly #connecting = new Set<Socket>();
  #waiting = 0;
  isFresh = false;

  /** @param egress - for requests whose URL a stranger chose. Missing, every address is connected to */
  constructor(given: NodeFetchOptions = {}, egress?: EgressPolicy) {
    const { idleMs = defaultIdleMs, connectTimeoutMs = 10_000, tls } = given;
    this.#options = given;
    this.#egress = egress;
    const secure = { ...tls, timeout: connectTimeoutMs };
    const options = {
      connect: this.#connector(secure),
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: given.idleMs ?? maxIdleMs,
    };
    // Node's own fetch heeds the proxy variables where this is set; so does this one.
    if (process.env.NODE_USE_ENV_PROXY === "1") {
      const EnvHttpProxyAgent = loadProxyAgent();
      this.dispatcher = new EnvHttpProxyAgent({ ...options, requestTls: secure, proxyTls: secure, proxyTunnel: false });
    } else {
      const Agent = loadAgent();
      this.dispatcher = new Agent(options);
    }
  }

  /** Sends a request; again where it met a connection that the server had closed, and nothing can be done twice by that. */
  readonly send = async (request: HttpRequest): Promise<ClientResponse> => {
    // A proxy connects for us: then the URL is all there is to judge.
    const refusal = this.#egress?.refusal(request.url);
    if (refusal !== undefined) throw new HttpSendError(refusal, { sent: false });
    for (let repeats = 0; ; repeats += 1) {
      // A turn of the event loop: that a server closed a connection is read before the connection is used again, also where the process
      // stood still meanwhile. And undici gives a connection free one turn after its answer: a request at once would make another one.
      await new Promise(setImmediate);
      request.signal?.throwIfAborted();
      const exchange = new Exchange(request, this);
      try {
        return await exchange.answered;
      } catch (error) {
        if (repeats === maxRepeats || !exchange.mayRepeat(error)) throw error;
      }
    }
  };

  /**
   * The client for requests whose URL a stranger chose: with the same certificates, and connections of its own, so that none is used that
   * another policy let through.
   */
  guarded(egress: EgressPolicy): HttpClient {
    let client = this.#guarded.get(egress);
    if (client === undefined) {
      client = new HttpClient(this.#options, egress);
      this.#guarded.set(egress, client);
    }
    return client;
  }

  /** A client with the same options, and connections of its own: those of this one may be open at this end only. */
  fresh(): HttpClient {
    return new HttpClient(this.#options, this.#egress);
  }

  /** Connecting ends where no request waits any more: undici has no abort for it. */
  waits(change: 1 | -1): void {
    this.#waiting += change;
    if (this.#waiting > 0) return;
    for (const socket of this.#connecting) socket.destroy(new Error("no request waits for this connection"));
  }

  #connector(secure: object): buildConnector.connector {
    const build = loadConnectorMaker();
    const egress = this.#egress;
    const direct = build(secure);
    const checked = egress === undefined ? direct : build({ ...secure, lookup: egress.lookup });
    return (options, callback) => {
      const isNamed = egress?.isNamed(new URL(`${options.protocol}//${options.host}`)) ?? true;
      const connect = isNamed ? direct : checked;
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
