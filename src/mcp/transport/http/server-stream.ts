import { setTimeout as delay } from "node:timers/promises";
import { ToolkitError } from "../../../core/error.ts";
import type { RpcMessage } from "../../rpc/message.ts";
import { discard } from "./network.ts";
import { mediaTypeOf } from "./status.ts";
import { watchedBody } from "./watched-body.ts";

/** How the stream is asked for, and who hears of it. */
export interface ServerStreamParts {
  readonly signal: AbortSignal;
  readonly maxMessageBytes: number;
  request(url: string | URL, init: RequestInit): Promise<Response>;
  /** Throws what a refusal of a stream that was there before means. */
  refused(response: Response): Promise<never>;
  /** What was said while it was not open is lost. */
  gap(): void;
  /** Asks for it again, where the SDK does not. */
  reopen(): void;
  /** It was there and cannot be had again. */
  failed(error: Error): void;
}

/** The SDK asks for a stream that ended again after so long, or after what the server says; the rest of the wait is ours. */
export const reopenMs = 100;
const retryMs = 1_000;
const maxRetryMs = 60_000;
// How long it may take to open before a session begins without it.
const openMs = 1_000;
// A stream that held so long was closed for being idle, not for being unwanted.
const steadyMs = 10_000;

/**
 * The stream of what a server says unasked. The SDK opens it, again and again; this answers its requests: at once where the stream
 * broke, else more and more slowly, for some servers close it each time.
 */
export class ServerStream {
  readonly #parts: ServerStreamParts;
  readonly #settled = Promise.withResolvers<void>();
  #opened = false;
  #open = false;
  #taken = false;
  #late = false;
  #failures = 0;
  #waitMs = 0;

  constructor(parts: ServerStreamParts) {
    this.#parts = parts;
  }

  /** True while there is one. */
  get isOpen(): boolean {
    return this.#open;
  }

  /** Something came by it. After a result the SDK takes it for the answer to a request, and does not open it again. */
  heard(message: RpcMessage): RpcMessage {
    if (message.result !== undefined) this.#taken = true;
    return message;
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

  /** Nobody waits any more. */
  stop(): void {
    this.#settled.resolve();
  }

  /** Answers the SDK's request for the stream. It never throws: the SDK would try again in its own way. */
  async answer(url: string | URL, init: RequestInit): Promise<Response> {
    const { signal } = this.#parts;
    if (signal.aborted) return noStream();
    try {
      const response = await this.#asked(url, { ...init, signal }, signal);
      if (isRedirect(response)) return response;
      if (response.ok && mediaTypeOf(response) === "text/event-stream") return this.#watched(response);
      // 405 says that there is no such stream; some servers say it with another status.
      await (this.#opened ? this.#parts.refused(response) : discard(response));
    } catch (error) {
      this.#parts.failed(error as Error);
    }
    this.#settled.resolve();
    return noStream();
  }

  /** Asks when it is time, and again while there are no credentials to ask with. */
  async #asked(url: string | URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
    for (;;) {
      await delay(this.#waitMs, undefined, { signal });
      try {
        return await this.#parts.request(url, init);
      } catch (error) {
        if (signal.aborted || !ToolkitError.is(error)) throw error;
        this.#failures += 1;
        this.#waitMs = this.#nextWaitMs();
        this.#late = true;
        this.#settled.resolve();
      }
    }
  }

  #nextWaitMs(): number {
    return Math.min(maxRetryMs, retryMs * 2 ** Math.max(0, this.#failures - 1));
  }

  /** Where the SDK is not going to. What it has read it need not have looked at yet. */
  async #reopen(): Promise<void> {
    const { signal, reopen } = this.#parts;
    await delay(reopenMs, undefined, { signal, ref: false }).catch(() => {});
    if (this.#taken && !signal.aborted) reopen();
  }

  #watched(response: Response): Response {
    const since = performance.now();
    const again = this.#opened;
    this.#opened = true;
    this.#open = true;
    this.#taken = false;
    this.#settled.resolve();
    if (again || this.#late) this.#parts.gap();
    const end = (error: unknown) => {
      this.#open = false;
      // A limit would be reached again.
      if (error instanceof ToolkitError) this.#parts.failed(error);
      this.#failures = performance.now() - since > steadyMs ? 0 : this.#failures + 1;
      // A stream that broke may mean that the server is gone: look at once.
      const broken = error !== undefined && this.#failures < 2;
      this.#waitMs = broken ? 0 : this.#nextWaitMs();
      void this.#reopen();
    };
    return watchedBody(response, { maxMessageBytes: this.#parts.maxMessageBytes, end });
  }
}

/** What the SDK takes for a server without a stream, so that it does not ask again. */
function noStream(): Response {
  return new Response(null, { status: 405 });
}

/** Redirects are the SDK's: it follows them within the origin. */
export function isRedirect({ status }: Response): boolean {
  return status >= 300 && status <= 399;
}
