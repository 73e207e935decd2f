import type { ServerResponse } from "node:http";
import { isRecord } from "../../lib/value.ts";
import type { ClientChannel, RelatedRequest } from "./client-channel.ts";
import { ClientConversation } from "./client-conversation.ts";
import { eventOf, eventStream, type HttpSessionParts, refusedByFault } from "./http-session.ts";

/** The parts of a POST. */
export interface HttpPostParts extends HttpSessionParts {
  readonly response: ServerResponse;
  /** Nothing more is read from its connection, or written to it. */
  freeze(): void;
}

/** One request of a client without a session, and its response. */
export class HttpPost {
  readonly conversation: ClientConversation;
  readonly #parts: HttpPostParts;
  #isStream = false;
  #body = "";

  constructor(parts: HttpPostParts) {
    this.#parts = parts;
    this.conversation = new ClientConversation(parts.state, this.#channel());
    parts.response.on("close", () => this.conversation.end());
  }

  receive(message: unknown): void {
    const { response, answers, state } = this.#parts;
    if (this.conversation.frozen || refusedByFault(state, message, response)) return;
    this.#isStream = answers === "sse" || (isRecord(message) && message.method === "subscriptions/listen");
    if (this.#isStream) response.writeHead(200, eventStream).flushHeaders();
    this.conversation.receive(message);
    // A notification has no answer.
    if (!isRecord(message) || message.id === undefined) response.writeHead(202).end();
    this.streamFault();
  }

  /** Ends a stream of notifications, if the fault `close-stream` is on. */
  streamFault(): void {
    const { listens } = this.conversation;
    if (listens === 0 || this.#parts.state.faults.take("close-stream") === undefined) return;
    this.#parts.response.end();
  }

  #channel(): ClientChannel {
    const { response, kill, freeze } = this.#parts;
    return {
      transport: "http",
      write: (text, about) => this.#write(text, about),
      done: () => {
        if (response.writableEnded) return;
        if (!this.#isStream) response.writeHead(200, { "content-type": "application/json" });
        response.end(this.#body);
      },
      freeze,
      kill,
    };
  }

  #write(text: string, about: RelatedRequest | undefined): void {
    if (this.#isStream) this.#parts.response.write(eventOf(text));
    // Without a stream there is room for the answer alone.
    else if (about?.answer === true && this.#body === "") this.#body = text;
  }
}
