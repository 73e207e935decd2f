import { setTimeout as delay } from "node:timers/promises";
import { ToolkitError } from "../../../core/error.ts";
import { ConnectionLostError } from "../../rpc/rpc-error.ts";
import type { RpcId, RpcMessage } from "../../rpc/rpc-message.ts";
import type { RequestOwner } from "../transport.ts";
import { notMcp } from "./http-error.ts";
import type { HttpAnswer, McpEndpoint } from "./http-exchange.ts";

// The time that requests being sent have to fail by themselves.
const drainMs = 100;

/**
 * Closes a connection whose server is gone, once the requests that are being sent have been answered or refused, so that the error of
 * each says whether it was sent; 100 ms after the last of them at the latest.
 */
export class DrainThenClose {
  readonly #close: (error: Error) => void;
  /** The reason of the closing; undefined while there is none. */
  error: Error | undefined;
  /** The number of requests that are being sent. */
  sending = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param close - is called once or several times, and closes the connection the first time */
  constructor(close: (error: Error) => void) {
    this.#close = close;
  }

  /** A request that was being sent has been answered or refused. */
  settled(): void {
    if (this.error === undefined) return;
    this.#timer?.refresh();
    this.#whenDrained(this.error);
  }

  /** The server is gone. Only the first reason counts. */
  begin(error: Error): void {
    if (this.error !== undefined) return;
    this.error = error;
    this.#timer = setTimeout(() => this.#close(error), drainMs);
    this.#whenDrained(error);
  }

  /** The connection is closed. */
  stop(): void {
    clearTimeout(this.#timer);
  }

  #whenDrained(error: Error): void {
    // A turn later, so that the error of the last request is handled before.
    if (this.sending === 0) setImmediate(() => this.#close(error));
  }
}

/** The parts of a session that its requests use. */
export interface PostedRequestParts {
  readonly endpoint: McpEndpoint;
  /** Handles the text of one message, or of a batch. */
  deliver(text: string, request: PostedRequest): void;
  /** Asks for the events after one. Rejects where they cannot be had. Missing, there is no such thing. */
  readonly resume?: ((lastId: string, request: PostedRequest) => Promise<HttpAnswer>) | undefined;
}

const retryMs = 1_000;
const maxRetryMs = 60_000;
// Whatever the server says, one that closes each time is not asked in a loop.
const laterRetryMs = 100;
/** The most resumptions in a row that bring nothing new. */
const maxIdleResumes = 5;
/** The time an answer may go on after its result, such as with late progress. */
const lingerMs = 1_000;

/** A request that was posted and is not answered yet. */
export class PostedRequest {
  readonly id: RpcId;
  readonly owner: RequestOwner | undefined;
  readonly abort = new AbortController();
  readonly #parts: PostedRequestParts;
  #isAnswered = false;
  #linger: NodeJS.Timeout | undefined;
  #lastId: string | undefined;
  #waitMs = retryMs;

  constructor(id: RpcId, owner: RequestOwner | undefined, parts: PostedRequestParts) {
    this.id = id;
    this.owner = owner;
    this.#parts = parts;
  }

  /** Takes note of a message that came in answer. */
  received({ method, id }: RpcMessage): void {
    // Some servers give the id back as text.
    if (method === undefined && String(id) === String(this.id)) this.#isAnswered = true;
  }

  /**
   * Delivers every message of the answer, in order, to its end.
   *
   * @throws ConnectionLostError where it ends without a result; NotMcpError; ToolkitError `LIMIT_EXCEEDED`; the error that broke it off
   */
  async read(answer: HttpAnswer | string): Promise<void> {
    if (typeof answer === "string") this.#parts.deliver(answer, this);
    else if (answer.kind === "json") this.#parts.deliver(await answer.text(), this);
    else if (answer.kind === "events") await this.#readStream(answer);
    else {
      answer.discard();
      throw notMcp(answer.mediaType, this.#parts.endpoint.redactor);
    }
    if (!this.#isAnswered) {
      throw new ConnectionLostError("the answer ended without a result", { sent: true, isAnswered: true });
    }
  }

  /** Reads a stream. Some servers close what takes long, again and again, and say each time where they are: it is resumed there. */
  async #readStream(first: HttpAnswer): Promise<void> {
    const { resume } = this.#parts;
    try {
      await this.#readEvents(first);
      if (resume === undefined) return;
      let idle = 0;
      for (let resumes = 0; !this.#isAnswered && this.#lastId !== undefined && idle < maxIdleResumes; resumes++) {
        const before = this.#lastId;
        const leastMs = resumes < maxIdleResumes ? 0 : laterRetryMs;
        const waitMs = Math.min(Math.max(leastMs, this.#waitMs), maxRetryMs);
        await delay(waitMs, undefined, { signal: this.abort.signal });
        await this.#readEvents(await resume(before, this));
        idle = this.#lastId === before ? idle + 1 : 0;
      }
    } finally {
      clearTimeout(this.#linger);
    }
  }

  /** Reads events as far as they come. Rejects where they break off and cannot be resumed. */
  async #readEvents(answer: HttpAnswer): Promise<void> {
    try {
      await answer.events({
        event: (type, data, id) => {
          if (type === "message" && data !== "") this.#parts.deliver(data, this);
          if (id !== undefined && this.#parts.resume !== undefined) this.#lastId = id;
          // Of a server that leaves each answer open there would be one connection a call.
          if (this.#isAnswered) this.#linger ??= setTimeout(() => this.abort.abort(), lingerMs);
        },
        retry: (ms) => {
          this.#waitMs = ms;
        },
      });
    } catch (error) {
      const isResumable = this.#lastId !== undefined && !this.abort.signal.aborted && !ToolkitError.is(error);
      if (!this.#isAnswered && !isResumable) throw error;
    }
  }
}
