import { setTimeout as delay } from "node:timers/promises";
import { ToolkitError } from "../../../core/error.ts";
import type { HttpAnswer } from "./http-exchange.ts";

/** The requests of a notification stream, and the handlers of what comes by it. */
export interface NotificationStreamParts {
  /** Ends it. */
  readonly signal: AbortSignal;
  /** Asks for the stream, from an event on where there is one. */
  request(lastId: string | undefined): Promise<HttpAnswer>;
  /** Throws the error that the refusal of a stream that was there before means. */
  refused(answer: HttpAnswer): Promise<never>;
  /** Handles the data of one event. */
  deliver(data: string): void;
  /** Notifications sent while it was not open are lost. */
  gap(): void;
  /** It was there and cannot be had again. */
  failed(error: Error): void;
}

// Even a stream that broke is not asked for in a loop.
const reopenMs = 100;
const retryMs = 1_000;
const maxRetryMs = 60_000;
// The time it may take to open before a session begins without it.
const openMs = 1_000;
// A stream that held so long was closed for being idle, not for being unwanted.
const steadyMs = 10_000;

/** The statuses by which a server may say that the handshake is not done. */
const earlyStatuses: ReadonlySet<number> = new Set([400, 409, 425]);

/**
 * The GET stream by which a server sends notifications and requests of its own. It is opened again when it ends: soon where it broke, else
 * more and more slowly, for some servers close it each time.
 */
export class NotificationStream {
  readonly #parts: NotificationStreamParts;
  readonly #settled = Promise.withResolvers<void>();
  #isOpen = false;
  #wasOpen = false;
  #isLate = false;
  #failures = 0;
  #waitMs = 0;
  #serverWaitMs = 0;
  #lastId: string | undefined;

  constructor(parts: NotificationStreamParts) {
    this.#parts = parts;
    parts.signal.addEventListener("abort", () => this.#settled.resolve(), { once: true });
  }

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /**
   * Resolves when it is open, or there is none, or it takes too long: then its opening is a gap.
   *
   * @param initialized - resolves when the server has taken note that the handshake is done
   */
  async open(initialized: Promise<void>): Promise<void> {
    void this.#run(initialized);
    const timer = setTimeout(() => this.#beLate(), openMs);
    await this.#settled.promise;
    clearTimeout(timer);
  }

  async #run(initialized: Promise<void>): Promise<void> {
    const { signal, failed, refused } = this.#parts;
    try {
      for (let isEarly = true; ; isEarly = false) {
        const answer = await this.#request();
        if (answer.kind === "events") await this.#read(answer);
        // 405 says that there is no such stream; some servers say it with another status.
        else if (this.#wasOpen) await refused(answer);
        else {
          answer.discard();
          if (!isEarly || !earlyStatuses.has(answer.status)) return;
          await initialized;
        }
      }
    } catch (error) {
      if (!signal.aborted) failed(error as Error);
    } finally {
      this.#settled.resolve();
    }
  }

  /** Asks when it is time, and again while there are no credentials to ask with. */
  async #request(): Promise<HttpAnswer> {
    const { signal, request } = this.#parts;
    for (;;) {
      if (this.#waitMs > 0) await delay(this.#waitMs, undefined, { signal });
      try {
        return await request(this.#lastId);
      } catch (error) {
        if (signal.aborted || !ToolkitError.is(error)) throw error;
        this.#failures += 1;
        this.#waitMs = this.#backoffMs();
        this.#beLate();
      }
    }
  }

  async #read(answer: HttpAnswer): Promise<void> {
    const since = performance.now();
    if (this.#wasOpen || this.#isLate) this.#parts.gap();
    this.#wasOpen = this.#isOpen = true;
    this.#settled.resolve();
    let isBroken = false;
    try {
      await answer.events({
        event: (type, data, id) => {
          if (id !== undefined) this.#lastId = id;
          if (type === "message" && data !== "") this.#parts.deliver(data);
        },
        retry: (ms) => {
          this.#serverWaitMs = Math.min(ms, maxRetryMs);
        },
      });
    } catch (error) {
      // A limit would be reached again.
      if (ToolkitError.is(error)) throw error;
      isBroken = true;
    } finally {
      this.#isOpen = false;
    }
    this.#failures = performance.now() - since > steadyMs ? 0 : this.#failures + 1;
    // A stream that broke may mean that the server is gone: look soon.
    const ownWaitMs = isBroken && this.#failures < 2 ? reopenMs : this.#backoffMs();
    this.#waitMs = Math.max(ownWaitMs, this.#serverWaitMs);
  }

  #backoffMs(): number {
    return Math.min(maxRetryMs, retryMs * 2 ** Math.max(0, this.#failures - 1));
  }

  #beLate(): void {
    this.#isLate = true;
    this.#settled.resolve();
  }
}
