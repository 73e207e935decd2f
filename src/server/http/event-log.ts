/** The bytes that all sessions together may keep. */
export interface EventBudget {
  left: number;
}

interface StoredEvent {
  readonly number: number;
  readonly stream: number;
  readonly text: string;
}

/** An event with the id by which a client names the last one it got. */
export interface NumberedEvent {
  readonly id: string;
  readonly text: string;
}

/** The most events that one session keeps, and the most bytes. */
const maxEvents = 1_000;
const maxBytes = 1024 * 1024;

/**
 * The latest events of one session's streams, so that a client whose connection was lost gets what it missed. It is bounded, and so are all
 * of them together: the oldest are dropped, after which a stream that would miss them cannot be resumed.
 */
export class EventLog {
  readonly #budget: EventBudget;
  #events: StoredEvent[] = [];
  #bytes = 0;
  #last = 0;
  /** By stream: the number of the last event that was dropped. */
  readonly #dropped = new Map<number, number>();

  constructor(budget: EventBudget) {
    this.#budget = budget;
  }

  /** Keeps an event, and gives its id. */
  append(stream: number, text: string): string {
    this.#last += 1;
    this.#events.push({ number: this.#last, stream, text });
    this.#bytes += text.length;
    this.#budget.left -= text.length;
    while (this.#events.length > maxEvents || this.#bytes > maxBytes || this.#budget.left < 0) {
      if (!this.#drop()) break;
    }
    return idOf(stream, this.#last);
  }

  /** The id of an event of a stream that says nothing. */
  mark(stream: number): string {
    this.#last += 1;
    return idOf(stream, this.#last);
  }

  /** The number of the stream that an id is of; undefined for what is no id. */
  streamOf(id: string): number | undefined {
    const match = /^(\d{1,15})-(\d{1,15})$/.exec(id);
    return match === null ? undefined : Number(match[1]);
  }

  /** The events of a stream after the one with the id; undefined where some of these are gone. */
  after(id: string): readonly NumberedEvent[] | undefined {
    const stream = this.streamOf(id);
    if (stream === undefined) return undefined;
    const number = Number(id.slice(id.indexOf("-") + 1));
    if (number > this.#last || (this.#dropped.get(stream) ?? 0) > number) return undefined;
    return this.#events
      .filter((event) => event.stream === stream && event.number > number)
      .map((event) => ({ id: idOf(stream, event.number), text: event.text }));
  }

  /** Forgets a stream whose client has got it whole. */
  forget(stream: number): void {
    this.#dropped.delete(stream);
    const kept: StoredEvent[] = [];
    for (const event of this.#events) {
      if (event.stream === stream) this.#free(event);
      else kept.push(event);
    }
    this.#events = kept;
  }

  clear(): void {
    for (const event of this.#events) this.#free(event);
    this.#events = [];
    this.#dropped.clear();
  }

  #drop(): boolean {
    const oldest = this.#events.shift();
    if (oldest === undefined) return false;
    this.#free(oldest);
    this.#dropped.set(oldest.stream, oldest.number);
    return true;
  }

  #free({ text }: StoredEvent): void {
    this.#bytes -= text.length;
    this.#budget.left += text.length;
  }
}

function idOf(stream: number, number: number): string {
  return `${stream}-${number}`;
}
