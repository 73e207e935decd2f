import { randomBytes } from "node:crypto";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { busOf } from "../../core/host-bus.ts";
import type { MessageBus } from "../../core/message-bus.ts";
import type { Logger } from "../../core/session.ts";
import { isRecord } from "../../lib/value.ts";
import type { RpcMessage } from "../../mcp/rpc/rpc-message.ts";
import { type EventSink, RequestRefusal, type ServedExchange } from "../http/http-exchange-port.ts";
import type { ReadServeOptions } from "../serve-options.ts";
import { failedCall, rpcError } from "../wire/error-form.ts";
import { ForwardedExchange, ForwardedReply, forwardedRequest, parseForwarded } from "./forwarded-exchange.ts";
import {
  isReplicaId,
  type LineEvents,
  linesLimit,
  type ReplicaLine,
  ReplicaLink,
  tooManyLines,
} from "./replica-link.ts";

/** Answers a request that another replica has let in. Never rejects. */
type ServeForwarded = (exchange: ServedExchange, principal: string | undefined) => Promise<void>;

/** The replicas of a host; undefined where its store has no way to other processes. @throws ToolkitError `CLOSED` */
export function openReplicas(
  host: object,
  options: Pick<ReadServeOptions, "clock" | "logger">,
  serve: ServeForwarded,
): Replicas | undefined {
  const bus = busOf(host);
  return bus === undefined ? undefined : new Replicas(bus, options, serve);
}

/** Takes a line that another replica begins; undefined refuses it. */
type LineAcceptor = (payload: unknown, line: ReplicaLine) => LineEvents | undefined;

/** A request that may be for a session of another replica. */
export interface SessionRequest {
  readonly exchange: ServedExchange;
  readonly sessionId: string;
  readonly principal: string | undefined;
  readonly cors: Readonly<Record<string, string>>;
  /** As it came, and what is in it; empty for one without a body. */
  readonly body: string;
  readonly messages: readonly RpcMessage[];
}

/** The time in which a replica is to be reachable for others when it begins its first session, in milliseconds. */
const reachableMs = 1_000;

/** The most requests of one principal that are forwarded at once, its open streams included. */
const maxForwarded = 1_000;

const json = { "content-type": "application/json" };

/**
 * The replicas that serve one endpoint behind a load balancer. A session lives in the replica that began it, whose name is the first part
 * of its id: each of the others forwards its requests there.
 */
export class Replicas {
  readonly bus: MessageBus;
  readonly link: ReplicaLink;
  readonly #logger: Logger;
  readonly #serve: ServeForwarded;
  readonly #acceptors = new Map<string, LineAcceptor>();
  readonly #running = new Set<Promise<void>>();
  /** The number of requests that are forwarded, by principal. */
  readonly #forwarded = new Map<string | undefined, number>();
  readonly #reachable: Promise<void>;

  constructor(bus: MessageBus, { clock, logger }: Pick<ReadServeOptions, "clock" | "logger">, serve: ServeForwarded) {
    this.bus = bus;
    this.#logger = logger;
    this.#serve = serve;
    this.accept("request", (payload, line) => this.#accept(payload, line));
    const accept = (kind: string, payload: unknown, line: ReplicaLine) => this.#acceptors.get(kind)?.(payload, line);
    this.link = new ReplicaLink({ bus, clock, accept });
    this.#reachable = new Promise((resolve) => {
      const late = clock.setTimer(resolve, reachableMs);
      void this.link.ready().then(() => {
        late.cancel();
        resolve();
      });
    });
  }

  /** Takes lines of a kind that other replicas begin. */
  accept(kind: string, acceptor: LineAcceptor): void {
    this.#acceptors.set(kind, acceptor);
  }

  /** An id that cannot be guessed, and names this replica. */
  async newSessionId(): Promise<string> {
    await this.#reachable;
    return `${this.link.id}.${randomBytes(24).toString("base64url")}`;
  }

  /**
   * Has a request answered by the replica that has its session. Resolves once it is on its way.
   *
   * @returns false where no other replica has it
   * @throws RequestRefusal where that cannot be reached, and nothing ran
   */
  async forward(request: SessionRequest): Promise<boolean> {
    const { exchange, sessionId, principal, cors, body } = request;
    const [owner = "", secret = ""] = sessionId.split(".", 2);
    if (owner === this.link.id || !isReplicaId(owner) || secret === "") return false;
    let line: ReplicaLine | undefined;
    const end = () => {
      reply.gone();
      line?.end();
    };
    const reply = new ForwardedReply(exchange, cors, { lost: (sink) => this.#answerLost(request, sink), unread: end });
    void reply.over.then(this.#count(principal));
    try {
      line = await this.link.open(owner, "request", forwardedRequest(exchange, body, principal), reply);
    } catch (error) {
      if (ToolkitError.is(error, "LIMIT_EXCEEDED")) {
        reply.gone();
        throw refusalOf(error);
      }
      this.#logger.error(`A request could not be forwarded to its replica: ${messageOf(error)}`, { error });
      // It may have been sent.
      reply.ended(true);
      return true;
    }
    if (line === undefined) {
      reply.gone();
      return false;
    }
    exchange.onGone(end);
    const isCall = exchange.method === "POST";
    if (isCall) this.#running.add(reply.over);
    void reply.over.then(() => this.#running.delete(reply.over));
    return true;
  }

  /** Resolves when no request is forwarded that has an end of its own. */
  async idle(): Promise<void> {
    await Promise.all(this.#running);
  }

  close(): Promise<void> {
    return this.link.close();
  }

  /** Counts a request of a principal, until the returned function is called. @throws RequestRefusal where it has too many */
  #count(principal: string | undefined): () => void {
    const before = this.#forwarded.get(principal) ?? 0;
    if (principal !== undefined && before >= maxForwarded) throw refusalOf(tooManyLines(maxForwarded));
    this.#forwarded.set(principal, before + 1);
    return () => {
      const left = (this.#forwarded.get(principal) ?? 1) - 1;
      if (left > 0) this.#forwarded.set(principal, left);
      else this.#forwarded.delete(principal);
    };
  }

  #accept(payload: unknown, line: ReplicaLine): ForwardedExchange | undefined {
    const request = parseForwarded(payload);
    if (request === undefined) return undefined;
    const exchange = new ForwardedExchange(request, line);
    // The line is there once this has returned.
    queueMicrotask(() => void this.#serve(exchange, request.principal));
    return exchange;
  }

  /** The replica is gone with the session: calls may have run, and are not repeated. */
  #answerLost({ exchange, messages, cors }: SessionRequest, sink: EventSink | undefined): void {
    const answers = messages.flatMap((message) => lostAnswer(message) ?? []);
    if (sink !== undefined) {
      for (const answer of answers) sink.write(`event: message\ndata: ${JSON.stringify(answer)}\n\n`);
      sink.end();
      return;
    }
    const isOne = answers.length === 1;
    if (answers.length > 0) exchange.reply(200, { ...json, ...cors }, JSON.stringify(isOne ? answers[0] : answers));
    else {
      const error = { code: -32_001, message: sessionGone };
      exchange.reply(404, { ...json, ...cors }, JSON.stringify({ jsonrpc: "2.0", id: null, error }));
    }
  }
}

/** The refusal of a request that is not forwarded: nothing ran. */
function refusalOf({ message, details }: ToolkitError<"LIMIT_EXCEEDED">): RequestRefusal {
  if (details.limit !== linesLimit) return new RequestRefusal(413, message);
  return new RequestRefusal(503, message, { headers: { "retry-after": "5" } });
}

const sessionGone = "Session not found: begin a new one with initialize.";

/** The answer to a request whose replica is gone; undefined for a message that gets none. */
function lostAnswer({ id, method, params }: RpcMessage): object | undefined {
  if (method === undefined || id === undefined || id === null) return undefined;
  const message =
    "No answer came back from the replica that has this session: it is gone, or the answer is too large to be passed on. The request may have run: check before you repeat it.";
  const lost = new ToolkitError("OUTCOME_UNKNOWN", message, { namespace: "" });
  if (method === "tools/call")
    return { jsonrpc: "2.0", id, result: failedCall(lost, isRecord(params) ? String(params.name) : "") };
  const { code, data } = rpcError(lost);
  return { jsonrpc: "2.0", id, error: { code, message, data } };
}
