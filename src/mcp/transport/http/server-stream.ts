import { setTimeout as delay } from "node:timers/promises";
import { ToolkitError } from "../../../core/error.ts";
import { discard, type HttpClient } from "./http-client.ts";
import { HttpStatusError, mediaTypeOf } from "./status.ts";

/** How the stream is opened and who hears it. */
export interface ServerStreamParts {
  readonly http: HttpClient;
  readonly signal: AbortSignal;
  /** Asks for the stream, from after the event with this id. Throws for an answer that is no success. */
  open(lastId: string | undefined): Promise<Response>;
  message(data: string): void;
  /** What was said while it was not open is lost. */
  gap(): void;
}

const retryMs = 1_000;
const maxRetryMs = 60_000;
// How long it may take to open before a session begins without it.
const openMs = 1_000;
// A stream that held so long was closed for being idle, not for being unwanted.
const steadyMs = 10_000;

/**
 * The stream of what a server says unasked, opened again whenever it ends: at once when it broke, else more and more slowly, for some
 * servers close it each time.
 */
export class ServerStream {
  readonly #parts: ServerStreamParts;
  readonly #settled = Promise.withResolvers<void>();
  #open = false;
  #late = false;

  constructor(parts: ServerStreamParts) {
    this.#parts = parts;
  }

  /** True once the server has opened one. */
  get exists(): boolean {
    return this.#open;
  }

  /** Resolves when it is open, or there is none, or it takes too long: then it is a gap when it opens. */
  async settled(): Promise<void> {
    const expire = () => {
      this.#late = true;
      this.#settled.resolve();
    };
    const timer = setTimeout(expire, openMs);
    await this.#settled.promise;
    clearTimeout(timer);
  }

  /** Keeps it open. Resolves when the server has none; rejects when it cannot be opened again, or when the signal aborts. */
  async run(): Promise<void> {
    try {
      await this.#keep();
    } finally {
      this.#settled.resolve();
    }
  }

  async #keep(): Promise<void> {
    const { signal } = this.#parts;
    const position: Position = { lastId: undefined, retryMs };
    let failures = 0;
    for (let first = true; ; first = false) {
      const response = await this.#request(position.lastId, first);
      if (response === undefined) return;
      const opened = performance.now();
      this.#opened(first);
      const broken = await this.#read(response, position);
      signal.throwIfAborted();
      failures = performance.now() - opened > steadyMs ? 0 : failures + 1;
      // A stream that broke may mean that the server is gone: look at once.
      const waitMs = broken && failures < 2 ? 0 : position.retryMs * 2 ** Math.max(0, failures - 1);
      await delay(Math.min(waitMs, maxRetryMs), undefined, { signal });
    }
  }

  async #request(lastId: string | undefined, first: boolean): Promise<Response | undefined> {
    try {
      const response = await this.#parts.open(lastId);
      if (mediaTypeOf(response) === "text/event-stream") return response;
      await discard(response);
    } catch (error) {
      // 405 says that the server has no such stream; others say it with another status.
      if (!first || !(error instanceof HttpStatusError)) throw error;
    }
    if (!first) throw new Error("the server no longer offers its event stream");
    return undefined;
  }

  #opened(first: boolean): void {
    this.#open = true;
    this.#settled.resolve();
    if (!first || this.#late) this.#parts.gap();
  }

  /** Reads it to its end. True when it broke. */
  async #read(response: Response, position: Position): Promise<boolean> {
    const { http, message } = this.#parts;
    try {
      await http.events(response, {
        event: ({ type, data }) => type === "message" && message(data),
        id: (id) => {
          position.lastId = id;
        },
        retry: (ms) => {
          position.retryMs = ms;
        },
      });
      return false;
    } catch (error) {
      // A limit would be reached again.
      if (error instanceof ToolkitError) throw error;
      return true;
    }
  }
}

interface Position {
  lastId: string | undefined;
  retryMs: number;
}
