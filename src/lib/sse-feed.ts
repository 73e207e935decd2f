import { createParser } from "eventsource-parser";

/** The events of one stream of Server-Sent Events. Their type is `message` where the server names none. */
export interface SseListener {
  event(type: string, data: string, id: string | undefined): void;
  /** The server asks to wait so long before the stream is opened again, in milliseconds. */
  retry?(ms: number): void;
  /** A comment, by which servers keep a connection alive. */
  comment?(): void;
}

/** The limit of one event. */
export interface SseLimit {
  /** Of the data of one event, in bytes. */
  readonly maxBytes: number;
  /** Makes the error for an event that is larger. */
  tooLarge(actual: number): Error;
}

/**
 * A parser of Server-Sent Events, to be fed with their text as it comes.
 *
 * @throws through the function it gives: the error of the limit; what the listener throws
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream
 */
export function sseFeed(listener: SseListener, { maxBytes, tooLarge }: SseLimit): (text: string) => void {
  const { feed } = createParser({
    // In characters, of which no text has more than bytes; a line has the name of its field too.
    maxBufferSize: maxBytes + "data: ".length,
    onEvent({ event = "message", data, id }) {
      // No character has more than three bytes, a pair of them four.
      const bytes = data.length * 3 <= maxBytes ? data.length : Buffer.byteLength(data);
      if (bytes > maxBytes) throw tooLarge(bytes);
      listener.event(event, data, id);
    },
    onRetry: (ms) => listener.retry?.(ms),
    onComment: () => listener.comment?.(),
    onError({ type }) {
      if (type === "max-buffer-size-exceeded") throw tooLarge(maxBytes + 1);
    },
  });
  let afterReturn = false;
  // One kind of line end: the parser takes quadratic time for those of a single CR.
  return (text) => {
    const rest = afterReturn && text.startsWith("\n") ? text.slice(1) : text;
    if (text !== "") afterReturn = text.endsWith("\r");
    feed(rest.includes("\r") ? rest.replace(/\r\n?/g, "\n") : rest);
  };
}
