import type { IncomingMessage, ServerResponse } from "node:http";
import { messageOf } from "../../core/error.ts";
import { protocolVersions } from "../../mcp/handshake.ts";
import { modernVersion } from "../../mcp/modern/revision.ts";
import type { RpcMessage } from "../../mcp/rpc/rpc-message.ts";
import { Audiences } from "../audiences.ts";
import { ClientSession, toolSessionId } from "../client-session.ts";
import { ReplicaParkedCalls } from "../replicas/replica-parked-calls.ts";
import { openReplicas, type Replicas } from "../replicas/replicas.ts";
import { RequestAudit } from "../request-audit.ts";
import type { ServableHost } from "../serve-options.ts";
import { StatelessService } from "../stateless/stateless-service.ts";
import type { EventBudget } from "./event-log.ts";
import { FetchExchange } from "./fetch-exchange.ts";
import { type McpHandlerOptions, type ReadHandlerOptions, readHandlerOptions } from "./handler-options.ts";
import { HttpChannel } from "./http-channel.ts";
import { ClientGone, RequestRefusal, type ServedExchange } from "./http-exchange-port.ts";
import { NodeExchange } from "./node-exchange.ts";
import { accepts, readPost, sessionIdOf } from "./read-exchange.ts";
import { RequestGate } from "./request-gate.ts";
import { type ServedSession, SessionRegistry } from "./session-registry.ts";
import { type StatelessCaller, StatelessEndpoint } from "./stateless-endpoint.ts";

/** A host that is served over HTTP: give one of its two functions to a server, for the path of the endpoint. */
export interface McpHandler extends AsyncDisposable {
  /** For what takes a function of the Fetch standard: Hono, Next, Bun, Deno. */
  fetch(request: Request): Promise<Response>;
  /** For `node:http`, Express and Fastify. */
  node(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** The number of sessions. */
  readonly sessions: number;
  /** Refuses new requests, lets those that run finish within `drainMs`, and ends all sessions. The host stays open. Idempotent. */
  close(): Promise<void>;
}

/**
 * Serves a host over Streamable HTTP. Without other options it answers requests to this machine's own names alone.
 *
 * @param host - a Toolkit, which is to be started, or a view of one
 * @throws ToolkitError `INVALID_CONFIG` for an option that is not what it must be, or that there is not, and for `allowedHosts` beyond this
 *   machine that nothing protects
 *
 * @example
 * ```ts
 * const handler = createMcpHandler(toolkit, { tokens: { ada: process.env.ADA_TOKEN } });
 * createServer(handler.node).listen(3000, "127.0.0.1");
 * ```
 */
export function createMcpHandler(host: ServableHost, options: McpHandlerOptions = {}): McpHandler {
  const endpoint = new HttpEndpoint(host, readHandlerOptions(host, options));
  const close = () => endpoint.close();
  return {
    fetch: async (request) => {
      const exchange = new FetchExchange(request);
      void endpoint.serve(exchange);
      return exchange.response;
    },
    node: (request, response) => endpoint.serve(new NodeExchange(request, response)),
    get sessions() {
      return endpoint.sessions;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

const json = { "content-type": "application/json" };

class HttpEndpoint {
  readonly #options: ReadHandlerOptions;
  readonly #audiences: Audiences;
  readonly #audit: RequestAudit;
  readonly #gate: RequestGate;
  readonly #registry: SessionRegistry;
  readonly #budget: EventBudget;
  /** Undefined where there is no way to others. */
  readonly #replicas: Replicas | undefined;
  /** Undefined where its revision is not served. */
  readonly #stateless: StatelessEndpoint | undefined;
  #closing: Promise<void> | undefined;

  constructor(host: ServableHost, options: ReadHandlerOptions) {
    this.#options = options;
    this.#audiences = new Audiences(host, options);
    this.#audit = new RequestAudit(options, "http");
    this.#gate = new RequestGate(options);
    this.#registry = new SessionRegistry(options);
    this.#budget = { left: options.maxEventBytes };
    this.#replicas = openReplicas(host, options, (exchange, principal) => this.#serveForwarded(exchange, principal));
    if (options.protocol === "2025-11-25") return;
    const parked = this.#replicas && new ReplicaParkedCalls(options, this.#replicas);
    this.#stateless = new StatelessEndpoint(
      options,
      this.#audiences,
      new StatelessService(options, this.#audit, parked),
    );
  }

  get sessions(): number {
    return this.#registry.size;
  }

  /** Answers an exchange. Never rejects. */
  async serve(exchange: ServedExchange): Promise<void> {
    let cors = {};
    try {
      const metadata = this.#gate.metadata(exchange);
      if (metadata !== undefined) {
        exchange.reply(200, { ...json, "access-control-allow-origin": "*" }, metadata);
        return;
      }
      cors = this.#gate.admit(exchange);
      const preflight = this.#gate.preflight(exchange, cors);
      if (preflight === undefined) await this.#admitted(exchange, cors);
      else exchange.reply(204, preflight);
    } catch (error) {
      this.#refuse(exchange, error, cors);
    }
  }

  /** Answers a request that another replica has let in. Never rejects. */
  async #serveForwarded(exchange: ServedExchange, principal: string | undefined): Promise<void> {
    try {
      await this.#dispatch(exchange, principal, {}, undefined);
    } catch (error) {
      this.#refuse(exchange, error, {});
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  async #drain(): Promise<void> {
    for (const { client } of this.#registry.all) client.drain();
    this.#stateless?.endStreams();
    const late = new Promise<void>((resolve) => void setTimeout(resolve, this.#options.drainMs).unref());
    await Promise.race([Promise.all([this.#audit.idle(), this.#replicas?.idle()]), late]);
    // The last answers are on their way.
    await new Promise((resolve) => setImmediate(resolve));
    this.#registry.stop();
    this.#stateless?.end();
    await this.#replicas?.close();
    this.#audiences.end();
  }

  async #admitted(exchange: ServedExchange, cors: Readonly<Record<string, string>>): Promise<void> {
    const principal = await this.#gate.principalOf(exchange);
    this.#gate.spend(principal);
    return this.#dispatch(exchange, principal, cors, this.#replicas);
  }

  /** @param replicas - undefined for a request that another of them has forwarded */
  async #dispatch(
    exchange: ServedExchange,
    principal: string | undefined,
    cors: Readonly<Record<string, string>>,
    replicas: Replicas | undefined,
  ): Promise<void> {
    this.#assertOpen();
    if (exchange.method === "POST") return this.#post(exchange, principal, cors, replicas);
    const { protocol } = this.#options;
    const isStateless = protocol === modernVersion || exchange.header("mcp-protocol-version") === modernVersion;
    if (!isStateless) assertEarlier(exchange);
    const sessions = this.#options.sessions && !isStateless;
    if (!sessions || (exchange.method !== "GET" && exchange.method !== "DELETE"))
      throw new RequestRefusal(405, "Method not allowed.", {
        headers: { allow: sessions ? "GET, POST, DELETE" : "POST" },
      });
    const sessionId = sessionIdOf(exchange);
    if (await replicas?.forward({ exchange, sessionId, principal, cors, body: "", messages: [] })) return;
    const session = this.#registry.find(sessionId, principal);
    if (exchange.method === "DELETE") {
      this.#registry.end(session);
      exchange.reply(200, cors);
      return;
    }
    if (!accepts(exchange, "text/event-stream")) throw new RequestRefusal(406, "Accept must have text/event-stream.");
    session.channel.open(exchange, exchange.header("last-event-id"));
  }

  async #post(
    exchange: ServedExchange,
    principal: string | undefined,
    cors: Readonly<Record<string, string>>,
    replicas: Replicas | undefined,
  ): Promise<void> {
    const { body, messages, takesEvents } = await readPost(exchange, this.#options);
    // It may have begun to close while the body came.
    this.#assertOpen();
    const caller = { principal, takesEvents, cors };
    if (this.#stateless?.takes(exchange, messages) === true) return this.#stateless.serve(exchange, messages, caller);
    const isHandshake = messages.some(({ method }) => method === "initialize");
    // A client that begins with one may name the revision that it would like best.
    if (!isHandshake) assertEarlier(exchange);
    if (!this.#options.sessions) return this.#once(exchange, messages, caller);
    if (!isHandshake) {
      const sessionId = sessionIdOf(exchange);
      const forwarded = replicas?.forward({ exchange, sessionId, principal, cors, body, messages });
      if (forwarded !== undefined && (await forwarded)) return;
      const { channel } = this.#registry.find(sessionId, principal);
      if (!channel.post(messages, exchange, takesEvents)) exchange.reply(202, cors);
      return;
    }
    if (messages.length > 1 || exchange.header("mcp-session-id") !== undefined)
      throw new RequestRefusal(400, "initialize begins a session, and comes alone.", { rpcCode: -32_600 });
    const session = await this.#begin(principal, cors);
    const { protocolVersion } = (messages[0]?.params ?? {}) as { readonly protocolVersion?: unknown };
    session.channel.isPrimed = typeof protocolVersion === "string" && protocolVersion >= "2025-11-25";
    session.channel.post(messages, exchange, takesEvents);
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new RequestRefusal(503, "This server is shutting down.");
  }

  async #begin(principal: string | undefined, cors: Readonly<Record<string, string>>): Promise<ServedSession> {
    const id = (await this.#replicas?.newSessionId()) ?? this.#registry.newId();
    const headers = { ...cors, "mcp-session-id": id };
    const { resumeMs, clock } = this.#options;
    const channel = new HttpChannel({ headers, budget: this.#budget, resumeMs, clock, missed: () => client.missed() });
    const client = await this.#client(channel, principal, true);
    this.#registry.makeRoom(principal);
    const session = { id, principal, channel, client, lastUsedAt: clock.now() };
    this.#registry.add(session);
    await client.begin();
    return session;
  }

  /** Serves one request by itself. */
  async #once(
    exchange: ServedExchange,
    messages: readonly RpcMessage[],
    { principal, takesEvents, cors }: StatelessCaller,
  ): Promise<void> {
    const nothing = () => undefined;
    const channel = new HttpChannel({
      headers: cors,
      budget: undefined,
      resumeMs: 0,
      clock: this.#options.clock,
      missed: nothing,
    });
    const client = await this.#client(channel, principal, false);
    await client.begin();
    if (!channel.post(messages, exchange, takesEvents)) exchange.reply(202, cors);
  }

  async #client(transport: HttpChannel, principal: string | undefined, isStateful: boolean): Promise<ClientSession> {
    const sessionId = toolSessionId();
    const audience = await this.#audiences.of({ id: sessionId, principal });
    const options = this.#options;
    return new ClientSession({ audience, transport, options, audit: this.#audit, sessionId, principal, isStateful });
  }

  #refuse(exchange: ServedExchange, error: unknown, cors: Readonly<Record<string, string>>): void {
    if (error instanceof ClientGone) return;
    const known = error instanceof RequestRefusal;
    if (!known) this.#options.logger.error(`A request could not be served: ${messageOf(error)}`, { error });
    const {
      status,
      headers,
      rpcCode,
      rpcId = null,
      data,
      message,
    } = known ? error : new RequestRefusal(500, "The request failed here.");
    this.#audit.refused(exchange.method, status);
    const body = JSON.stringify({ jsonrpc: "2.0", id: rpcId, error: { code: rpcCode, message, data } });
    exchange.reply(status, { ...json, ...cors, ...headers }, body);
  }
}

/** @throws RequestRefusal for a revision without a handshake, and for none that there is */
function assertEarlier(exchange: ServedExchange): void {
  const version = exchange.header("mcp-protocol-version");
  if (version === undefined || protocolVersions.includes(version)) return;
  throw new RequestRefusal(400, `The protocol version is not supported: ${protocolVersions.join(", ")} are.`);
}
