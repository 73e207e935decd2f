import type { RpcId, RpcMessage } from "../../mcp/rpc/rpc-message.ts";
import type { RequestOwner, Transport, TransportEvents } from "../../mcp/transport/transport.ts";
import { ServedRequest } from "../request-session.ts";
import { textOf } from "../stdio/stdio-channel.ts";
import { type EventBudget, EventLog } from "./event-log.ts";
import { RequestRefusal, type ServedExchange } from "./http-exchange-port.ts";
import { ReplyStream } from "./reply-stream.ts";

/** The parts of a channel. */
export interface HttpChannelParts {
  /** Of every answer, such as the id of the session. */
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined where there is no session: then nobody can come back. */
  readonly budget: EventBudget | undefined;
  /** Time in which a client may come back for the answer to a request, in milliseconds. Then the request is cancelled. */
  readonly resumeMs: number;
  /** The client may have missed messages of no request. */
  readonly missed: () => void;
}

/** So many streams that were answered are kept, for clients that did not get them whole. */
const maxFinished = 20;

/** The exchanges of one session as one transport: each message goes to the stream of the request that it belongs to. */
export class HttpChannel implements Transport {
  readonly name = "streamable-http";
  readonly silenceMs = Number.POSITIVE_INFINITY;
  /** Set once the client's revision is known. */
  isPrimed = false;
  readonly #parts: HttpChannelParts;
  readonly #log: EventLog | undefined;
  readonly #byRequest = new Map<RpcId, ReplyStream>();
  readonly #streams = new Map<number, ReplyStream>();
  readonly #finished: ReplyStream[] = [];
  readonly #leaving = new Map<ReplyStream, NodeJS.Timeout>();
  #standalone: ReplyStream | undefined;
  /** Messages of no request, until the client opens the stream for these. */
  #early: string[] = [];
  #events: TransportEvents | undefined;
  #nextStream = 1;
  #isOpen = true;

  constructor(parts: HttpChannelParts) {
    this.#parts = parts;
    this.#log = parts.budget && new EventLog(parts.budget);
  }

  /** True while no client is connected and no request runs. */
  get isIdle(): boolean {
    return this.#byRequest.size === 0 && this.#standalone?.isAttached !== true;
  }

  async start(events: TransportEvents): Promise<void> {
    this.#events = events;
  }

  /**
   * Takes the messages of a POST, and answers it where there is a request among them.
   *
   * @returns false where there is none
   * @throws RequestRefusal for a request whose id another has that is not answered yet
   */
  post(messages: readonly RpcMessage[], exchange: ServedExchange, takesEvents: boolean): boolean {
    const ids = messages.flatMap(({ id, method }) =>
      method === undefined || id === undefined || id === null ? [] : [id],
    );
    const taken = ids.find((id) => this.#byRequest.has(id));
    if (taken !== undefined || new Set(ids).size < ids.length)
      throw new RequestRefusal(400, "A request with this id is being worked on.", { rpcCode: -32_600 });
    if (ids.length > 0) {
      const stream = this.#makeStream(this.#nextStream++);
      for (const id of ids) {
        stream.pending.add(id);
        this.#byRequest.set(id, stream);
      }
      stream.attach(exchange, { takesEvents: takesEvents, beginNow: ids.length > 1 });
    }
    for (const message of messages) this.#receive(message);
    return ids.length > 0;
  }

  /** Opens the stream for what belongs to no request, or goes on with one that was lost. @throws RequestRefusal where its events are gone */
  open(exchange: ServedExchange, lastEventId: string | undefined): void {
    const number = lastEventId === undefined ? 0 : this.#log?.streamOf(lastEventId);
    if (lastEventId !== undefined && number !== undefined && this.#resume(number, exchange, lastEventId)) return;
    if (number !== 0) throw new RequestRefusal(404, "The events of this stream are gone.");
    // One connection at a time: the one before may be dead without our knowing.
    this.#standalone?.detach();
    const isAgain = this.#standalone !== undefined;
    const stream = this.#makeStream(0);
    this.#standalone = stream;
    stream.attach(exchange, { beginNow: true });
    for (const text of this.#early.splice(0)) stream.write(text, false);
    if (isAgain) this.#parts.missed();
  }

  #resume(number: number, exchange: ServedExchange, lastEventId: string): boolean {
    const stream = this.#streams.get(number);
    if (stream?.resume(exchange, lastEventId) !== true) return false;
    this.#stay(stream);
    return true;
  }

  send(message: RpcMessage, owner?: RequestOwner): undefined {
    if (!this.#isOpen) return;
    const isAnswer = message.method === undefined;
    const id = isAnswer ? message.id : owner instanceof ServedRequest ? owner.id : undefined;
    const stream = id === undefined || id === null ? undefined : this.#byRequest.get(id);
    if (isAnswer) {
      if (stream === undefined || id === undefined || id === null) return;
      this.#byRequest.delete(id);
      stream.pending.delete(id);
      const isLast = stream.pending.size === 0;
      stream.write(textOf(message), isLast);
      if (isLast) this.#finish(stream);
    } else if (stream?.takesEvents === true) stream.write(textOf(message), false);
    else this.#sendAlone(textOf(message));
  }

  /** Keeps its connections open through proxies. */
  keepAlive(): void {
    for (const stream of this.#streams.values()) stream.keepAlive();
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const timer of this.#leaving.values()) clearTimeout(timer);
    for (const stream of this.#streams.values()) stream.finish();
    this.#streams.clear();
    this.#byRequest.clear();
    this.#log?.clear();
    this.#early = [];
    this.#events?.closed(undefined);
  }

  #receive(message: RpcMessage): void {
    this.#events?.message(message);
    if (message.method !== "notifications/cancelled") return;
    const { requestId } = (message.params ?? {}) as { readonly requestId?: RpcId };
    const stream = requestId === undefined ? undefined : this.#byRequest.get(requestId);
    if (stream === undefined || requestId === undefined) return;
    // A cancelled request gets no answer: nothing else would end its stream.
    this.#byRequest.delete(requestId);
    stream.pending.delete(requestId);
    if (stream.pending.size > 0) return;
    stream.finish();
    this.#finish(stream);
  }

  #sendAlone(text: string): void {
    if (this.#standalone !== undefined) this.#standalone.write(text, false);
    else if (this.#log !== undefined) {
      this.#early.push(text);
      // They say no more than that something changed.
      if (this.#early.length > maxEarly) this.#early.shift();
    }
  }

  #makeStream(number: number): ReplyStream {
    const { headers } = this.#parts;
    const gone = (stream: ReplyStream) => this.#gone(stream);
    const stream = new ReplyStream({ number, log: this.#log, headers, isPrimed: this.isPrimed, gone });
    this.#streams.set(number, stream);
    return stream;
  }

  #gone(stream: ReplyStream): void {
    if (stream.pending.size === 0) return;
    if (!stream.isResumable) this.#abandon(stream);
    else
      this.#leaving.set(
        stream,
        setTimeout(() => this.#abandon(stream), this.#parts.resumeMs),
      );
  }

  #stay(stream: ReplyStream): void {
    clearTimeout(this.#leaving.get(stream));
    this.#leaving.delete(stream);
  }

  /** The client did not come back: nobody waits for its requests. */
  #abandon(stream: ReplyStream): void {
    this.#stay(stream);
    for (const requestId of [...stream.pending]) {
      const params = { requestId, reason: "the client is gone" };
      this.#receive({ jsonrpc: "2.0", method: "notifications/cancelled", params });
    }
  }

  #finish(stream: ReplyStream): void {
    this.#stay(stream);
    this.#finished.push(stream);
    const old = this.#finished.length > maxFinished || this.#log === undefined ? this.#finished.shift() : undefined;
    if (old === undefined) return;
    this.#streams.delete(old.number);
    this.#log?.forget(old.number);
  }
}

const maxEarly = 1_000;
