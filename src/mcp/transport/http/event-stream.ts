/** One event of an event stream. */
export interface StreamEvent {
  /** Default: `message`. */
  readonly type: string;
  readonly data: string;
}

/** What a reader of an event stream is told. */
export interface StreamEvents {
  event(event: StreamEvent): void;
  /** The id to go on from, should the stream break. */
  id?(id: string): void;
  /** How long to wait before opening it again, in milliseconds. */
  retry?(ms: number): void;
}

/** Parses an event stream as it comes. @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
export class EventStreamParser {
  readonly #events: StreamEvents;
  readonly #maxLength: number;
  #rest = "";
  #scanned = 0;
  #data: string[] = [];
  #length = 0;
  #type = "";
  #first = true;

  /** @param maxLength - the most characters an event may have; more throws a RangeError */
  constructor(events: StreamEvents, maxLength: number) {
    this.#events = events;
    this.#maxLength = maxLength;
  }

  push(text: string): void {
    let rest = this.#rest + (this.#first && text.startsWith("\uFEFF") ? text.slice(1) : text);
    if (text !== "") this.#first = false;
    let start = 0;
    for (let at = this.#scanned; at < rest.length; at++) {
      const code = rest.charCodeAt(at);
      if (code !== lineFeed && code !== carriageReturn) {
        at = nextBreak(rest, at) - 1;
        continue;
      }
      // A CR at the very end may be half of a CR LF.
      if (code === carriageReturn && at + 1 === rest.length) break;
      this.#line(rest.slice(start, at));
      if (code === carriageReturn && rest.charCodeAt(at + 1) === lineFeed) at++;
      start = at + 1;
    }
    rest = rest.slice(start);
    this.#check(rest.length);
    this.#rest = rest;
    this.#scanned = rest.endsWith("\r") ? rest.length - 1 : rest.length;
  }

  #line(line: string): void {
    if (line === "") {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line.charCodeAt(colon + 1) === space ? colon + 2 : colon + 1);
    if (field === "data") {
      this.#check(value.length);
      this.#length += value.length;
      this.#data.push(value);
    } else if (field === "event") this.#type = value;
    else if (field === "id" && !value.includes("\0")) this.#events.id?.(value);
    else if (field === "retry" && /^\d+$/.test(value)) this.#events.retry?.(Number(value));
  }

  #dispatch(): void {
    const type = this.#type === "" ? "message" : this.#type;
    const lines = this.#data;
    this.#type = "";
    this.#data = [];
    this.#length = 0;
    if (lines.length > 0) this.#events.event({ type, data: lines.length === 1 ? (lines[0] ?? "") : lines.join("\n") });
  }

  #check(more: number): void {
    if (this.#length + more > this.#maxLength) throw new RangeError("event too long");
  }
}

const lineFeed = 10;
const carriageReturn = 13;
const space = 32;

function nextBreak(text: string, from: number): number {
  const feed = text.indexOf("\n", from);
  const end = feed === -1 ? text.length : feed;
  const carriage = text.slice(from, end).indexOf("\r");
  return carriage === -1 ? end : from + carriage;
}
