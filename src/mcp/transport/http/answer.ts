import { setTimeout as delay } from "node:timers/promises";
import { ToolkitError } from "../../../core/error.ts";
import { eachChunk } from "../../fetch/response.ts";
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
}

export const jsonType = "application/json";
export const eventStreamType = "text/event-stream";

const retryMs = 1_000;
const maxRetryMs = 60_000;
const maxResumes = 5;
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

  constructor(parts: AnswerParts) {
    this.#parts = parts;
  }

  async read(response: Response): Promise<boolean> {
    const type = mediaTypeOf(response);
    if (type === jsonType) this.#deliver(await readText(response, this.#parts.maxMessageBytes));
    else if (type === eventStreamType) await this.#follow(response);
    else {
      await discard(response);
      throw notMcp(type, this.#parts.redactor);
    }
    return this.#answered;
  }

  async #follow(first: Response): Promise<void> {
    const { resume, signal } = this.#parts;
    await this.#events(first);
    for (let resumes = 0; !this.#answered && this.#lastId !== undefined && resumes < maxResumes; resumes++) {
      await delay(Math.min(this.#waitMs, maxRetryMs), undefined, { signal });
      await this.#events(await resume(this.#lastId));
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
      if (message.method === undefined && String(message.id) === String(this.#parts.id)) this.#answered = true;
      this.#parts.message(message);
    }
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
