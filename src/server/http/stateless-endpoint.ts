import { definitionOf } from "../../core/entry.ts";
import { messageOf } from "../../core/error.ts";
import type { Timer } from "../../lib/clock.ts";
import { isRecord } from "../../lib/value.ts";
import { protocolVersions } from "../../mcp/handshake.ts";
import { modernCodes, modernVersion } from "../../mcp/modern/revision.ts";
import { messageFault, RpcError, rpcCodes } from "../../mcp/rpc/rpc-error.ts";
import type { RpcId, RpcMessage } from "../../mcp/rpc/rpc-message.ts";
import type { Audience, Audiences } from "../audiences.ts";
import { maxNestingDepth, toolSessionId } from "../client-session.ts";
import { assertParameterHeaders, assertStandardHeaders } from "../stateless/header-check.ts";
import { namesRevision, readEnvelope, unsupportedRevision } from "../stateless/request-envelope.ts";
import type { StatelessService } from "../stateless/stateless-service.ts";
import { textOf } from "../stdio/stdio-channel.ts";
import { invalidParams } from "../wire/error-form.ts";
import type { ReadHandlerOptions } from "./handler-options.ts";
import { RequestRefusal, type ServedExchange } from "./http-exchange-port.ts";
import { ReplyStream } from "./reply-stream.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A caller, and its way of reading answers. */
export interface StatelessCaller {
  readonly principal: string | undefined;
  /** False where it takes one answer in JSON and nothing else. */
  readonly takesEvents: boolean;
  readonly cors: Readonly<Record<string, string>>;
}

/** Answers requests of 2026-07-28 over HTTP: each POST is one request, and its answer one in JSON, or a stream of events that ends with it. */
export class StatelessEndpoint {
  readonly #options: ReadHandlerOptions;
  readonly #audiences: Audiences;
  readonly #service: StatelessService;
  readonly #open = new Map<ReplyStream, AbortController>();
  /** The number of open requests by principal. */
  readonly #counts = new Map<string | undefined, number>();
  #total = 0;
  #keepAlive: Timer | undefined;

  constructor(options: ReadHandlerOptions, audiences: Audiences, service: StatelessService) {
    this.#options = options;
    this.#audiences = audiences;
    this.#service = service;
  }

  /**
   * True for a POST of this revision: its body says so, or its header, or no other is served. A handshake is of the others, whatever
   * revision its client would like best.
   *
   * @throws RequestRefusal for a revision that there is not
   */
  takes(exchange: ServedExchange, messages: readonly RpcMessage[]): boolean {
    const { protocol } = this.#options;
    const version = exchange.header("mcp-protocol-version");
    const isEarlier = version === undefined || protocolVersions.includes(version);
    if (protocol === modernVersion || messages.some(({ params }) => namesRevision(params))) return true;
    if (isEarlier || messages.some(({ method }) => method === "initialize")) return false;
    if (version === modernVersion) return true;
    throw refusalOf(messages[0]?.id ?? undefined, unsupportedRevision(version, protocol), 400);
  }

  /** Answers a POST. Settles when it is answered. @throws RequestRefusal for one that is not served: nothing ran */
  async serve(exchange: ServedExchange, messages: readonly RpcMessage[], caller: StatelessCaller): Promise<void> {
    const [message] = messages;
    const { id, method } = message ?? {};
    if (message === undefined || messages.length > 1 || method === undefined || typeof (id ?? "") === "object")
      throw new RequestRefusal(400, "The body must be one request.", { rpcCode: -32_600 });
    if (id === undefined || id === null) {
      // There is none that would change anything here.
      exchange.reply(202, caller.cors);
      return;
    }
    const params = isRecord(message.params) ? message.params : {};
    const headerOf = (name: string) => exchange.header(name);
    const envelope = this.#checked(id, () => {
      const fault = messageFault(message.params, maxNestingDepth);
      if (fault !== undefined) throw invalidParams(fault.message);
      if (namesRevision(params)) assertStandardHeaders(headerOf, method, params);
      return readEnvelope(method, params, this.#options.protocol);
    });
    if (!this.#service.knows(method)) {
      const error = new RpcError({ code: rpcCodes.methodNotFound, message: `Method not found: ${method}` });
      throw refusalOf(id, error, 404);
    }
    if (method === "subscriptions/listen" && !caller.takesEvents)
      throw new RequestRefusal(406, "Accept must have text/event-stream.", { rpcId: id });
    await this.#within(caller.principal, async () => {
      const { principal } = caller;
      const sessionId = toolSessionId();
      const audience = await this.#audiences.of({ id: sessionId, principal });
      if (method === "tools/call") await this.#assertParameters(id, params, audience, headerOf);
      await this.#answer(exchange, caller, id, (signal, notify) =>
        this.#service.answer({ id, method, params, envelope, principal, sessionId, audience, signal, notify }),
      );
    });
  }

  /** Ends the streams of notifications, which last for as long as their clients want. */
  endStreams(): void {
    this.#service.endStreams();
  }

  /** The requests that still run are cancelled. */
  end(): void {
    this.#keepAlive?.cancel();
    this.#keepAlive = undefined;
    for (const controller of this.#open.values()) controller.abort(new Error("The server is shutting down."));
    this.#service.end();
  }

  async #answer(
    exchange: ServedExchange,
    { cors, takesEvents }: StatelessCaller,
    id: RpcId,
    run: (signal: AbortSignal, notify: (method: string, params: Fields) => void) => Promise<Fields>,
  ): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    const gone = () => controller.abort(new Error("The client is gone."));
    const { clock, logger } = this.#options;
    const stream = new ReplyStream({ number: 1, log: undefined, headers: cors, isPrimed: false, clock, gone });
    this.#open.set(stream, controller);
    this.#schedule();
    stream.attach(exchange, { takesEvents });
    const notify = (method: string, params: Fields) => {
      if (!takesEvents || signal.aborted) return;
      try {
        stream.write(textOf({ jsonrpc: "2.0", method, params }), false);
      } catch (error) {
        logger.warn(`A client was not notified: ${messageOf(error)}`);
      }
    };
    try {
      const result = await run(signal, notify);
      stream.write(textOf({ jsonrpc: "2.0", id, result }), true);
    } catch (error) {
      // A client that has gone gets no answer; one that has not sees the end of its stream.
      if (signal.aborted) stream.finish();
      else stream.write(textOf({ jsonrpc: "2.0", id, error: errorObject(error) }), true, statusOf(error));
    } finally {
      this.#open.delete(stream);
    }
  }

  /** An open request takes a connection and a place in memory, as a session does. @throws RequestRefusal where there are too many */
  async #within(principal: string | undefined, work: () => Promise<void>): Promise<void> {
    const { maxSessions, maxSessionsPerPrincipal } = this.#options;
    const own = this.#counts.get(principal) ?? 0;
    if (this.#total >= maxSessions || own >= maxSessionsPerPrincipal)
      throw new RequestRefusal(503, "Too many open requests: end one first.", { headers: { "retry-after": "1" } });
    this.#count(principal, 1);
    try {
      await work();
    } finally {
      this.#count(principal, -1);
    }
  }

  #count(principal: string | undefined, change: number): void {
    this.#total += change;
    const count = (this.#counts.get(principal) ?? 0) + change;
    if (count === 0) this.#counts.delete(principal);
    else this.#counts.set(principal, count);
  }

  async #assertParameters(
    id: RpcId,
    params: Fields,
    audience: Audience,
    headerOf: (name: string) => string | undefined,
  ) {
    const { name, arguments: input } = params;
    const entry = typeof name === "string" ? await audience.catalog.find("tool", name) : undefined;
    if (entry === undefined) return;
    this.#checked(id, () => assertParameterHeaders(headerOf, definitionOf(entry).input, input));
  }

  /** @throws RequestRefusal in place of an RpcError */
  #checked<T>(id: RpcId, check: () => T): T {
    try {
      return check();
    } catch (error) {
      throw error instanceof RpcError ? refusalOf(id, error, 400) : error;
    }
  }

  #schedule(): void {
    const { clock, keepAliveMs } = this.#options;
    this.#keepAlive ??= clock.setTimer(() => {
      this.#keepAlive = undefined;
      for (const stream of this.#open.keys()) stream.keepAlive();
      if (this.#open.size > 0) this.#schedule();
    }, keepAliveMs);
  }
}

/** The refusal of a request by an error of the protocol. */
function refusalOf(id: RpcId | undefined, { code, message, data }: RpcError, status: number): RequestRefusal {
  return new RequestRefusal(status, message, { rpcCode: code, rpcId: id, data });
}

function errorObject(error: unknown) {
  const { code, message, data } = error instanceof RpcError ? error : new RpcError({ code: rpcCodes.internalError });
  return data === undefined ? { code, message } : { code, message, data };
}

function statusOf(error: unknown): number {
  return error instanceof RpcError && error.code === modernCodes.missingCapability ? 400 : 200;
}
