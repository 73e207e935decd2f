import { setTimeout as delay } from "node:timers/promises";
import { ToolkitError } from "../../../core/error.ts";
import { eachChunk } from "../../../lib/fetch/response.ts";
import { tooLarge } from "../../limits.ts";
import type { Redactor } from "../../redact.ts";
import { ConnectionLostError } from "../../rpc/error.ts";
import { parseMessages, type RequestId, type RpcMessage } from "../../rpc/message.ts";
import { EventStreamParser, type StreamEvents } from "./event-stream.ts";
import { discard } from "./network.ts";
import { mediaTypeOf, notMcp } from "./status.ts";

/** What answers a request, and who hears of it. */
export interface AnswerParts {
  /** Of the request. */
  readonly id: RequestId;
  readonly maxMessageBytes: number;
  readonly redactor: Redactor;
  /** Ends the reading. */
  readonly signal: AbortSignal;
  message(message: RpcMessage): void;
  warning(text: string): void;
  /** Asks for what came after an event. Rejects where that cannot be had. */
  resume(lastId: string): Promise<Response>;
  /** The result has come, and what may follow it has had its time: ends the reading. */
  enough(): void;
}

export const jsonType = "application/json";
export const eventStreamType = "text/event-stream";

const retryMs = 1_000;
const maxRetryMs = 60_000;
// Whatever the server says, one that closes each time is not asked in a loop.
const laterRetryMs = 100;
/** So often in a row it is resumed with nothing new. */
const maxIdleResumes = 5;
/** So long an answer may go on after its result, such as with late progress. */
const lingerMs = 1_000;
const quotedLength = 200;

/**
 * Reads the answer to a request to its end and hands on every message in it, in order. One that comes as events with ids is resumed
 * where it breaks off.
 *
 * @throws ConnectionLostError where it ends without a result; NotMcpError; ToolkitError `LIMIT_EXCEEDED`; what broke it off
 */
export async function readAnswer(response: Response, parts: AnswerParts): Promise<void> {
  const answered = await new Answer(parts).read(response);
  if (!answered) throw new ConnectionLostError("the answer ended without a result", { sent: true });
}

class Answer {
  readonly #parts: AnswerParts;
  #answered = false;
  #lastId: string | undefined;
  #waitMs = retryMs;
  #linger: NodeJS.Timeout | undefined;

  constructor(parts: AnswerParts) {
    this.#parts = parts;
  }

  async read(response: Response): Promise<boolean> {
    try {
      await this.#read(response);
    } finally {
      clearTimeout(this.#linger);
    }
    return this.#answered;
  }

  async #read(response: Response): Promise<void> {
    const type = mediaTypeOf(response);
    if (type === jsonType) this.#deliver(await readText(response, this.#parts.maxMessageBytes));
    else if (type === eventStreamType) await this.#follow(response);
    else {
      await discard(response);
      throw notMcp(type, this.#parts.redactor);
    }
  }

  async #follow(first: Response): Promise<void> {
    const { resume, signal } = this.#parts;
    await this.#events(first);
    // Some servers close what takes long, again and again, and say each time where they are.
    let idle = 0;
    for (let resumes = 0; !this.#answered && this.#lastId !== undefined && idle < maxIdleResumes; resumes++) {
      const before = this.#lastId;
      const leastMs = resumes < maxIdleResumes ? 0 : laterRetryMs;
      await delay(Math.min(Math.max(leastMs, this.#waitMs), maxRetryMs), undefined, { signal });
      await this.#events(await resume(before));
      idle = this.#lastId === before ? idle + 1 : 0;
    }
  }

  /** Reads events as far as they come. Rejects where they break off and cannot be resumed. */
  async #events(response: Response): Promise<void> {
    const { maxMessageBytes, signal } = this.#parts;
    try {
      await readEvents(response, maxMessageBytes, {
        event: (type, data) => {
          if (type === "message" && data !== "") this.#deliver(data);
        },
        id: (id) => {
          this.#lastId = id;
        },
        retry: (ms) => {
          this.#waitMs = ms;
        },
      });
    } catch (error) {
      const resumable = this.#lastId !== undefined && !signal.aborted && !(error instanceof ToolkitError);
      if (!this.#answered && !resumable) throw error;
    }
  }

  #deliver(text: string): void {
    const messages = parseMessages(text);
    if (messages === undefined) {
      const said = this.#parts.redactor.text(text).slice(0, quotedLength);
      this.#parts.warning(`It sent what is no message: ${JSON.stringify(said)}`);
      return;
    }
    for (const message of messages) {
      // Some servers give the id back as text.
      if (message.method === undefined && String(message.id) === String(this.#parts.id)) this.#finish();
      this.#parts.message(message);
    }
  }

  #finish(): void {
    this.#answered = true;
    // Of a server that leaves each answer open there would be one connection a call.
    this.#linger ??= setTimeout(() => this.#parts.enough(), lingerMs);
  }
}

async function readText(response: Response, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  await eachChunk(response, (chunk) => {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge(maxBytes, size);
    text += decoder.decode(chunk, { stream: true });
  });
  return text + decoder.decode();
}

async function readEvents(response: Response, maxBytes: number, events: StreamEvents): Promise<void> {
  const parser = new EventStreamParser(events, maxBytes);
  const decoder = new TextDecoder();
  await eachChunk(response, (chunk) => parser.push(decoder.decode(chunk, { stream: true })));
}
