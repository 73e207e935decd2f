import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import { isRecord } from "../../lib/value.ts";
import { Conversation } from "./conversation.ts";
import type { About, Line, RequestId } from "./line.ts";
import type { Script } from "./script.ts";

/** What a session is made of. */
export interface HttpSessionParts {
  readonly script: Script;
  readonly answers: "sse" | "json";
  /** Ends everything, as a crash of the server. */
  kill(): void;
}

const eventStream = { "content-type": "text/event-stream", "cache-control": "no-cache" };

/** One session of Streamable HTTP: its stream of what is said unasked, and the answers that are under way. */
export class HttpSession {
  readonly id = randomUUID();
  readonly conversation: Conversation;
  readonly #parts: HttpSessionParts;
  readonly #answers = new Map<RequestId, ServerResponse>();
  /** Where the answer is one JSON message: what it will be. */
  readonly #bodies = new Map<RequestId, string>();
  #stream: ServerResponse | undefined;

  constructor(parts: HttpSessionParts) {
    this.#parts = parts;
    this.conversation = new Conversation(parts.script, this.#line());
  }

  /** What the server says unasked goes here from now on. */
  openStream(response: ServerResponse): void {
    this.#stream?.end();
    this.#stream = response;
    response.on("close", () => {
      if (this.#stream === response) this.#stream = undefined;
    });
    response.writeHead(200, eventStream).flushHeaders();
    this.streamFault();
  }

  /** Closes the stream where that is the fault that is on. */
  streamFault(): void {
    if (this.#stream === undefined || this.#parts.script.faults.take("close-stream") === undefined) return;
    this.#stream.end();
    this.#stream = undefined;
  }

  /** Takes what came in one POST; the requests among it are answered there. */
  receive(messages: readonly unknown[], requests: readonly unknown[], response: ServerResponse): void {
    const ids = requests.flatMap((request) => (isRecord(request) ? [request.id as RequestId] : []));
    for (const id of ids) this.#answers.set(id, response);
    response.on("close", () => {
      for (const id of ids) if (this.#answers.get(id) === response) this.#answers.delete(id);
    });
    if (ids.length === 0) response.writeHead(202).end();
    else if (this.#error(requests, response)) return;
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

  #error([request]: readonly unknown[], response: ServerResponse): boolean {
    const { method, params } = isRecord(request) ? request : {};
    const tool = isRecord(params) ? String(params.name) : undefined;
    const fault = this.#parts.script.faults.take("http-error", { method: String(method), tool });
    if (fault === undefined) return false;
    const { status = 503 } = fault;
    response.writeHead(status).end(`The server is told to answer ${status}.`);
    return true;
  }

  #line(): Line {
    return {
      transport: "http",
      write: (text, about) => this.#write(text, about),
      done: (request) => this.#done(request),
      freeze: () => undefined,
      kill: () => this.#parts.kill(),
    };
  }

  #write(text: string, about: About | undefined): void {
    const { answers } = this.#parts;
    const response = about === undefined ? undefined : this.#answers.get(about.request);
    if (response === undefined || about === undefined) this.#say(text);
    else if (answers === "sse") response.write(eventOf(text));
    else if (about.answer && !this.#bodies.has(about.request)) this.#bodies.set(about.request, text);
    else this.#say(text);
  }

  #say(text: string): void {
    this.#stream?.write(eventOf(text));
  }

  #done(request: RequestId): void {
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

function eventOf(text: string): string {
  return `event: message\ndata: ${text}\n\n`;
}
