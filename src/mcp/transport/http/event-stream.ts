import { tooLarge } from "../../limits.ts";

/** What a reader of an event stream is told. */
export interface StreamEvents {
  /** An event is complete. Its type is `message` where it says none. */
  event(type: string, data: string): void;
  /** The id to go on from, should the stream break: told after the event it came with. */
  id(id: string): void;
  /** How long to wait before opening it again, in milliseconds. */
  retry(ms: number): void;
}

const lineFeed = 10;
const carriageReturn = 13;
const space = 32;

/** Parses an event stream as it comes. @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream */
export class EventStreamParser {
  readonly #events: StreamEvents;
  readonly #maxBytes: number;
  /** The begin of a line. */
  #rest: string[] = [];
  #restBytes = 0;
  #eventBytes = 0;
  #afterCarriageReturn = false;
  #data: string[] = [];
  #type = "";
  #id: string | undefined;

  /** @param maxBytes - the most an event may have */
  constructor(events: StreamEvents, maxBytes: number) {
    this.#events = events;
    this.#maxBytes = maxBytes;
  }

  /** Takes what came next, decoded and without a byte order mark. @throws ToolkitError `LIMIT_EXCEEDED` */
  push(text: string): void {
    if (text === "") return;
    // A CR LF may come in two chunks.
    let start = this.#afterCarriageReturn && text.charCodeAt(0) === lineFeed ? 1 : 0;
    for (let end = lineEnd(text, start); end !== -1; end = lineEnd(text, start)) {
      this.#line(text.slice(start, end));
      start = end + (text.charCodeAt(end) === carriageReturn && text.charCodeAt(end + 1) === lineFeed ? 2 : 1);
    }
    this.#afterCarriageReturn = text.endsWith("\r");
    if (start === text.length) return;
    const rest = text.slice(start);
    this.#rest.push(rest);
    this.#restBytes += Buffer.byteLength(rest);
    this.#check(this.#eventBytes + this.#restBytes);
  }

  #line(end: string): void {
    const line = this.#rest.length === 0 ? end : this.#rest.join("") + end;
    const bytes = this.#restBytes + Buffer.byteLength(end);
    this.#rest = [];
    this.#restBytes = 0;
    if (line === "") {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(":");
    // A comment keeps the connection alive and belongs to no event.
    if (colon === 0) return;
    this.#eventBytes += bytes;
    this.#check(this.#eventBytes);
    if (colon === -1) this.#field(line, "");
    else this.#field(line.slice(0, colon), line.slice(line.charCodeAt(colon + 1) === space ? colon + 2 : colon + 1));
  }

  #field(name: string, value: string): void {
    if (name === "data") this.#data.push(value);
    else if (name === "event") this.#type = value;
    else if (name === "id" && !value.includes("\0")) this.#id = value;
    else if (name === "retry" && /^\d+$/.test(value)) this.#events.retry(Number(value));
  }

  #dispatch(): void {
    const type = this.#type === "" ? "message" : this.#type;
    const data = this.#data;
    const id = this.#id;
    this.#eventBytes = 0;
    this.#data = [];
    this.#type = "";
    this.#id = undefined;
    if (data.length > 0) this.#events.event(type, data.join("\n"));
    if (id !== undefined) this.#events.id(id);
  }

  #check(bytes: number): void {
    if (bytes > this.#maxBytes) throw tooLarge(this.#maxBytes, bytes);
  }
}

function lineEnd(text: string, from: number): number {
  const feed = text.indexOf("\n", from);
  // Most streams have no CR at all: it is looked for within the line only.
  const carriage = (feed === -1 ? text.slice(from) : text.slice(from, feed)).indexOf("\r");
  return carriage === -1 ? feed : from + carriage;
}
