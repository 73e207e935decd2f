import type { AgentEvent } from "../core/agent-event.ts";
import type { Content } from "../core/resource.ts";
import type { Clock } from "../lib/clock.ts";
import { type StreamResponseOptions, streamResponse } from "./response/stream-response.ts";

/** The events of a run, and its answer. */
export interface AgentStream extends AsyncIterable<AgentEvent> {
  /** The answer. Without a reader of the events the run does not wait for one. Rejects with the error of the run, as reading does. */
  readonly result: Promise<Content>;
  /**
   * The run as an HTTP response of Server-Sent Events, for any server that takes a web `Response`. It reads the events: the run goes no
   * faster than the client, and ends where the client goes away.
   *
   * @throws ToolkitError `INVALID_CONFIG` for an invalid option
   *
   * @example
   * ```ts
   * app.post("/chat", async (c) => assistant.stream(await c.req.text()).toResponse());
   * ```
   */
  toResponse(options?: StreamResponseOptions): Response;
}

type Step = IteratorResult<AgentEvent, undefined>;

interface QueuedEvent {
  readonly event: AgentEvent;
  taken(): void;
}

/** Hands events to one reader: the run waits until each is taken. */
export class EventStream implements AgentStream, AsyncIterator<AgentEvent, undefined> {
  readonly #abort = new AbortController();
  readonly #clock: Clock;
  readonly #id: string | undefined;
  readonly #result: Promise<Content>;
  readonly #queue: QueuedEvent[] = [];
  /** Calls of `next` that wait for an event. */
  readonly #readers: ((step: Step | Promise<Step>) => void)[] = [];
  #isRead = false;
  #isAwaited = false;
  #isOver = false;

  /**
   * @param run - gets a signal that aborts once the reader has stopped, and the listener of its events
   * @param options - `id`: of a run that is resumed
   */
  constructor(
    run: (signal: AbortSignal, onEvent: (event: AgentEvent) => void | Promise<void>) => Promise<Content>,
    { clock, id }: { readonly clock: Clock; readonly id: string | undefined },
  ) {
    this.#clock = clock;
    this.#id = id;
    this.#result = run(this.#abort.signal, (event) => this.#enqueue(event)).finally(() => {
      this.#isOver = true;
      for (const { taken } of this.#queue) taken();
      for (const read of this.#readers.splice(0)) read(this.#end());
    });
    // The reader gets the rejection, and a caller that awaits `result`.
    this.#result.catch(() => undefined);
  }

  get result(): Promise<Content> {
    this.#isAwaited = true;
    if (!this.#isRead) this.#drop();
    return this.#result;
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    this.#isRead = true;
    return this;
  }

  toResponse(options: StreamResponseOptions = {}): Response {
    const run = { id: this.#id, events: this[Symbol.asyncIterator](), result: this.#result, clock: this.#clock };
    return streamResponse(run, options);
  }

  next(): Promise<Step> {
    const queued = this.#queue.shift();
    if (queued !== undefined) {
      queued.taken();
      return Promise.resolve({ done: false, value: queued.event });
    }
    if (this.#isOver) return this.#end();
    return new Promise((resolve) => this.#readers.push(resolve));
  }

  /** The reader has stopped, so the run is aborted. */
  async return(): Promise<Step> {
    if (!this.#isOver) this.#abort.abort(new DOMException("The reader of the events has stopped.", "AbortError"));
    this.#drop();
    await this.#result.catch(() => undefined);
    return { done: true, value: undefined };
  }

  #enqueue(event: AgentEvent): void | Promise<void> {
    if (this.#isOver || this.#abort.signal.aborted || (this.#isAwaited && !this.#isRead)) return;
    const read = this.#readers.shift();
    if (read === undefined) return new Promise<void>((taken) => this.#queue.push({ event, taken }));
    read({ done: false, value: event });
  }

  /** @throws the error of the run, unless its reader has stopped */
  async #end(): Promise<Step> {
    if (!this.#abort.signal.aborted) await this.#result;
    return { done: true, value: undefined };
  }

  #drop(): void {
    for (const { taken } of this.#queue.splice(0)) taken();
  }
}
