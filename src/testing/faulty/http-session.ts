import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { isRecord } from "../../lib/value.ts";
import type { ClientChannel, JsonRpcId, RelatedRequest } from "./client-channel.ts";
import { ClientConversation } from "./client-conversation.ts";
import type { FaultyState } from "./faulty-state.ts";

/** The parts of a session. */
export interface HttpSessionParts {
  readonly state: FaultyState;
  readonly answers: "sse" | "json";
  /** Ends all connections, as a crash of the server does. */
  kill(): void;
}

export const eventStream = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/** One session of Streamable HTTP: its stream of server messages, and its open responses. */
export class HttpSession {
  readonly id = randomUUID();
  readonly conversation: ClientConversation;
  readonly #parts: HttpSessionParts;
  readonly #answers = new Map<JsonRpcId, ServerResponse>();
  /** The answers so far, where a response is one JSON message. */
  readonly #bodies = new Map<JsonRpcId, string>();
  #stream: ServerResponse | undefined;

  constructor(parts: HttpSessionParts) {
    this.#parts = parts;
    this.conversation = new ClientConversation(parts.state, this.#channel());
  }

  /** Messages outside of responses go to this stream from now on. */
  openStream(response: ServerResponse): void {
    this.#stream?.end();
    this.#stream = response;
    response.on("close", () => {
      if (this.#stream === response) this.#stream = undefined;
    });
    response.writeHead(200, eventStream).flushHeaders();
    this.streamFault();
  }

  /** Closes the stream, if the fault `close-stream` is on. */
  streamFault(): void {
    if (this.#stream === undefined || this.#parts.state.faults.take("close-stream") === undefined) return;
    this.#stream.end();
    this.#stream = undefined;
  }

  /** Receives the messages of one POST, and answers its requests in the response. */
  receive(messages: readonly unknown[], requests: readonly unknown[], response: ServerResponse): void {
    const ids = requests.flatMap((request) => (isRecord(request) ? [request.id as JsonRpcId] : []));
    for (const id of ids) this.#answers.set(id, response);
    response.on("close", () => {
      for (const id of ids) if (this.#answers.get(id) === response) this.#answers.delete(id);
    });
    if (ids.length === 0) response.writeHead(202).end();
    else if (refusedByFault(this.#parts.state, requests[0], response)) return;
    else if (this.#parts.answers === "sse") {
      response.writeHead(200, { ...eventStream, "mcp-session-id": this.id }).flushHeaders();
    }
    for (const message of messages) this.conversation.receive(message);
  }

  end(): void {
    this.conversation.end();
    this.#stream?.end();
    for (const response of this.#answers.values()) response.end();
  }

  #channel(): ClientChannel {
    return {
      transport: "http",
      write: (text, about) => this.#write(text, about),
      done: (request) => this.#done(request),
      freeze: () => undefined,
      kill: () => this.#parts.kill(),
    };
  }

  #write(text: string, about: RelatedRequest | undefined): void {
    const { answers } = this.#parts;
    const response = about === undefined ? undefined : this.#answers.get(about.request);
    if (response === undefined || about === undefined) this.#send(text);
    else if (answers === "sse") response.write(eventOf(text));
    else if (about.answer && !this.#bodies.has(about.request)) this.#bodies.set(about.request, text);
    else this.#send(text);
  }

  #send(text: string): void {
    this.#stream?.write(eventOf(text));
  }

  #done(request: JsonRpcId): void {
    const response = this.#answers.get(request);
    const body = this.#bodies.get(request);
    this.#answers.delete(request);
    this.#bodies.delete(request);
    if (response === undefined || [...this.#answers.values()].includes(response)) return;
    if (this.#parts.answers === "json") {
      response.writeHead(200, { "content-type": "application/json", "mcp-session-id": this.id });
      response.end(body ?? "");
    } else response.end();
  }
}

export function eventOf(text: string): string {
  return `event: message\ndata: ${text}\n\n`;
}

/** Answers a request with a status, if the fault `http-error` is on. */
export function refusedByFault({ faults }: FaultyState, request: unknown, response: ServerResponse): boolean {
  const { method, params } = isRecord(request) ? request : {};
  const tool = isRecord(params) ? String(params.name) : undefined;
  const fault = faults.take("http-error", { method: String(method), tool });
  if (fault === undefined) return false;
  const { status = 503 } = fault;
  response.writeHead(status).end(`The fault http-error answers ${status}.`);
  return true;
}
