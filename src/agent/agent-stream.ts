import type { AgentEvent } from "../core/agent-event.ts";
import type { Content } from "../core/resource.ts";

/** A run as it happens. */
export interface AgentStream extends AsyncIterable<AgentEvent> {
  /** The answer. Where nobody reads the events, the run goes on without. Rejects with what the run failed with, as reading does. */
  readonly result: Promise<Content>;
}

interface Waiting {
  readonly event: AgentEvent;
  taken(): void;
}

/** Hands events to one reader, one by one: the run waits until each is taken. */
export class EventStream implements AgentStream, AsyncIterator<AgentEvent, undefined> {
  readonly #abort = new AbortController();
  readonly #result: Promise<Content>;
  readonly #queue: Waiting[] = [];
  #awake = Promise.withResolvers<void>();
  #isRead = false;
  #isAwaited = false;
  #isOver = false;

  /** @param run - is given a signal that aborts when nobody reads any more, and what tells of events */
  constructor(run: (signal: AbortSignal, onEvent: (event: AgentEvent) => void | Promise<void>) => Promise<Content>) {
    this.#result = run(this.#abort.signal, (event) => this.#told(event)).finally(() => {
      this.#isOver = true;
      for (const { taken } of this.#queue) taken();
      this.#wake();
    });
    // Whoever reads hears of it, and whoever awaits it.
    this.#result.catch(() => undefined);
  }

  get result(): Promise<Content> {
    this.#isAwaited = true;
    if (!this.#isRead) this.#letGo();
    return this.#result;
  }

  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    this.#isRead = true;
    return this;
  }

  async next(): Promise<IteratorResult<AgentEvent, undefined>> {
    for (;;) {
      const waiting = this.#queue.shift();
      if (waiting !== undefined) {
        waiting.taken();
        return { done: false, value: waiting.event };
      }
      if (this.#isOver) {
        if (!this.#abort.signal.aborted) await this.#result;
        return { done: true, value: undefined };
      }
      await this.#awake.promise;
    }
  }

  /** Nobody reads any more: the run is ended. */
  async return(): Promise<IteratorResult<AgentEvent, undefined>> {
    if (!this.#isOver) this.#abort.abort(new DOMException("Nobody reads the events any more.", "AbortError"));
    this.#letGo();
    await this.#result.catch(() => undefined);
    return { done: true, value: undefined };
  }

  #told(event: AgentEvent): void | Promise<void> {
    if (this.#isOver || this.#abort.signal.aborted || (this.#isAwaited && !this.#isRead)) return;
    return new Promise<void>((taken) => {
      this.#queue.push({ event, taken });
      this.#wake();
    });
  }

  /** Whoever waits for an event looks again: several may, where somebody asks for the next before the last is there. */
  #wake(): void {
    this.#awake.resolve();
    this.#awake = Promise.withResolvers();
  }

  #letGo(): void {
    for (const { taken } of this.#queue.splice(0)) taken();
  }
}
