import type { Clock, Timer } from "../../lib/clock.ts";
import type { RpcId } from "../../mcp/rpc/rpc-message.ts";
import type { EventLog } from "./event-log.ts";
import type { EventSink, ServedExchange } from "./http-exchange-port.ts";

/** The parts of a stream. */
export interface ReplyStreamParts {
  /** Within its session: 0 is the one for what belongs to no request. */
  readonly number: number;
  /** Keeps what was written, for a client that comes back; undefined where none can. */
  readonly log: EventLog | undefined;
  /** The headers of each answer. */
  readonly headers: Readonly<Record<string, string>>;
  /** An event without data comes first, with the id to come back with: clients before 2025-11-25 take it for a message. */
  readonly isPrimed: boolean;
  readonly clock: Clock;
  /** The client went. Called once for each connection. */
  readonly gone: (stream: ReplyStream) => void;
}

/** A request that takes longer is answered by an event stream, which a client can come back to. */
const patienceMs = 100;
/** So many bytes wait for a client that does not read; then its connection is ended. */
const maxUnreadBytes = 16 * 1024 * 1024;

const eventHeaders = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * The answer to one POST, or the stream of a GET. It is plain JSON where the one answer comes soon and nothing before it, else a stream of
 * events. A stream outlives its connection: the client may come back for the rest.
 */
export class ReplyStream {
  readonly number: number;
  /** The requests that are not answered yet. */
  readonly pending = new Set<RpcId>();
  readonly #parts: ReplyStreamParts;
  #exchange: ServedExchange | undefined;
  #sink: EventSink | undefined;
  #timer: Timer | undefined;
  #hasBegun = false;
  #isWhole = false;
  #takesEvents = true;

  constructor(parts: ReplyStreamParts) {
    this.number = parts.number;
    this.#parts = parts;
  }

  /** True while a client is connected to it. */
  get isAttached(): boolean {
    return this.#exchange !== undefined;
  }

  /** True where it has begun as a stream of events, so that a client may come back to it. */
  get isResumable(): boolean {
    return this.#hasBegun && this.#parts.log !== undefined;
  }

  /** False where the client takes one answer in JSON and nothing else. */
  get takesEvents(): boolean {
    return this.#takesEvents;
  }

  /** Answers an exchange: as JSON, where that is still possible, or with events. @param takesEvents - whether the client takes these */
  attach(exchange: ServedExchange, { takesEvents = true, beginNow = false } = {}): void {
    this.#exchange = exchange;
    this.#takesEvents = takesEvents;
    exchange.onGone(() => this.#detached(exchange));
    if (beginNow) this.#begin();
    else if (takesEvents) this.#timer = this.#parts.clock.setTimer(() => this.#begin(), patienceMs);
  }

  /** Continues after the event with the id. False where that is not possible any more. */
  resume(exchange: ServedExchange, lastEventId: string): boolean {
    const missed = this.#parts.log?.after(lastEventId);
    if (missed === undefined) return false;
    this.detach();
    this.#exchange = exchange;
    exchange.onGone(() => this.#detached(exchange));
    const sink = exchange.stream({ ...this.#parts.headers, ...eventHeaders });
    this.#sink = sink;
    for (const { id, text } of missed) sink.write(eventOf(text, id));
    if (this.#isWhole) this.#close();
    return true;
  }

  /**
   * Sends a message.
   *
   * @param isLast - nothing follows it
   * @param status - of an answer that is plain JSON
   */
  write(text: string, isLast: boolean, status = 200): void {
    if (isLast) this.#isWhole = true;
    const exchange = this.#exchange;
    if (isLast && !this.#hasBegun && exchange !== undefined) {
      this.#release();
      exchange.reply(status, { ...this.#parts.headers, "content-type": "application/json" }, text);
      return;
    }
    this.#begin();
    const id = this.#parts.log?.append(this.number, text);
    const sink = this.#sink;
    if (sink !== undefined && sink.unread > maxUnreadBytes) this.#drop(sink);
    else sink?.write(eventOf(text, id));
    if (isLast) this.#close();
  }

  /** Keeps the connection open through proxies that end silent ones. */
  keepAlive(): void {
    this.#sink?.write(": \n\n");
  }

  /** Ends the connection; the client may come back. */
  detach(): void {
    const sink = this.#sink;
    this.#release();
    sink?.end();
  }

  /** Nothing more comes: its requests were answered, or cancelled. */
  finish(): void {
    if (this.#isWhole) return;
    this.#isWhole = true;
    this.#begin();
    this.#close();
  }

  #begin(): void {
    this.#timer?.cancel();
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const { log, headers, isPrimed } = this.#parts;
    this.#sink = this.#exchange?.stream({ ...headers, ...eventHeaders });
    if (isPrimed && log !== undefined) this.#sink?.write(`id: ${log.mark(this.number)}\ndata: \n\n`);
  }

  /** The client does not read what it asked for. */
  #drop(sink: EventSink): void {
    sink.destroy();
    const exchange = this.#exchange;
    if (exchange !== undefined) this.#detached(exchange);
  }

  #close(): void {
    const sink = this.#sink;
    this.#release();
    sink?.end();
  }

  #release(): void {
    this.#timer?.cancel();
    this.#exchange = undefined;
    this.#sink = undefined;
  }

  #detached(exchange: ServedExchange): void {
    // It may be attached to another connection by now.
    if (this.#exchange !== exchange) return;
    this.#release();
    this.#parts.gone(this);
  }
}

function eventOf(text: string, id: string | undefined): string {
  return `${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${text}\n\n`;
}
