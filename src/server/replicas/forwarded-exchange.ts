import { isRecord } from "../../lib/value.ts";
import { type BodyLimits, type EventSink, type ServedExchange, tooLarge, urlOf } from "../http/http-exchange-port.ts";
import type { LineEvents, ReplicaLine } from "./replica-link.ts";

type Headers = Readonly<Record<string, string>>;

/** A request that another replica has received, and has let in. It has no credentials. */
export interface ForwardedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Headers;
  readonly body: string;
  readonly principal?: string | undefined;
}

/** The headers that go with a request: those by which MCP steers. */
const passed = [
  ...["accept", "content-type", "host", "last-event-id"],
  ...["mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"],
];

/** The request for the replica that is to answer it. */
export function forwardedRequest(exchange: ServedExchange, body: string, principal: string | undefined) {
  const named = passed.map((name) => [name, exchange.header(name)] as const);
  const headers = Object.fromEntries(named.filter(([, value]) => value !== undefined));
  return { method: exchange.method, path: exchange.path, headers, body, principal };
}

/** Undefined for what is none. */
export function parseForwarded(payload: unknown): ForwardedRequest | undefined {
  if (!isRecord(payload)) return undefined;
  const { method, path, headers, body, principal } = payload;
  const isText = [method, path, body].every((each) => typeof each === "string");
  const hasHeaders = isRecord(headers) && Object.values(headers).every((each) => typeof each === "string");
  if (!isText || !hasHeaders || (principal !== undefined && typeof principal !== "string")) return undefined;
  return payload as unknown as ForwardedRequest;
}

/** An exchange whose client is connected to another replica: the answer goes there. */
export class ForwardedExchange implements ServedExchange, LineEvents {
  readonly method: string;
  readonly path: string;
  readonly #request: ForwardedRequest;
  readonly #line: ReplicaLine;
  #gone: (() => void) | undefined;
  #isGone = false;

  constructor(request: ForwardedRequest, line: ReplicaLine) {
    this.method = request.method;
    this.path = request.path;
    this.#request = request;
    this.#line = line;
  }

  header(name: string): string | undefined {
    const { headers } = this.#request;
    return Object.hasOwn(headers, name) ? headers[name] : undefined;
  }

  async body({ maxBytes }: BodyLimits): Promise<string> {
    const { body } = this.#request;
    if (Buffer.byteLength(body) > maxBytes) throw tooLarge(maxBytes);
    return body;
  }

  toRequest(): Request {
    return new Request(urlOf(this.path, this.header("host")), { headers: { ...this.#request.headers } });
  }

  reply(status: number, headers: Headers, body = ""): void {
    this.#line.send({ status, headers, body }, body.length);
    this.#line.end();
  }

  stream(headers: Headers): EventSink {
    const line = this.#line;
    line.send({ headers });
    return {
      get unread() {
        return line.unsent;
      },
      write: (text) => line.send({ text }, text.length),
      end: () => line.end(),
      destroy: () => line.end(),
    };
  }

  onGone(listener: () => void): void {
    this.#gone = listener;
    if (this.#isGone) listener();
  }

  data(): void {
    // The client's end says all it has to say when it begins.
  }

  ended(): void {
    this.#isGone = true;
    this.#gone?.();
  }
}

/** The ends of an answer that its replica does not bring to an end itself. */
interface ForwardedReplyEvents {
  /** The replica is gone: it is answered here. @param sink - its stream, where that had begun */
  lost(sink: EventSink | undefined): void;
  /** The client does not read what it asked for, and its connection was ended. */
  unread(): void;
}

/** The way back: what the replica that answers says, for the client that is connected here. */
export class ForwardedReply implements LineEvents {
  readonly #exchange: ServedExchange;
  readonly #cors: Headers;
  readonly #events: ForwardedReplyEvents;
  readonly #over = Promise.withResolvers<void>();
  #sink: EventSink | undefined;
  #isAnswered = false;

  constructor(exchange: ServedExchange, cors: Headers, events: ForwardedReplyEvents) {
    this.#exchange = exchange;
    this.#cors = cors;
    this.#events = events;
  }

  /** Resolves when the answer is whole, or its client is gone. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  /** The client went. */
  gone(): void {
    this.#isAnswered = true;
    this.#over.resolve();
  }

  data(message: unknown): void {
    if (!isRecord(message) || this.#isAnswered) return;
    const { status, headers, body, text } = message;
    const sent = isRecord(headers) ? { ...(headers as Headers), ...this.#cors } : this.#cors;
    if (typeof status === "number" && typeof body === "string") {
      this.#isAnswered = true;
      this.#exchange.reply(status, sent, body);
    } else if (typeof text === "string") this.#write(text);
    else this.#sink ??= this.#exchange.stream(sent);
  }

  ended(isLost: boolean): void {
    this.#over.resolve();
    if (this.#isAnswered) return;
    this.#isAnswered = true;
    if (isLost || this.#sink === undefined) this.#events.lost(this.#sink);
    else this.#sink.end();
  }

  #write(text: string): void {
    if (this.#sink === undefined) return;
    this.#sink.write(text);
    if (this.#sink.unread <= maxUnreadBytes) return;
    this.#sink.destroy();
    this.#events.unread();
  }
}

/** So many bytes wait for a client that does not read, as where it is answered by the replica it is connected to. */
const maxUnreadBytes = 16 * 1024 * 1024;
