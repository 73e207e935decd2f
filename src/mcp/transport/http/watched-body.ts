import { tooLarge } from "../../limits.ts";

/** What is noticed of a stream of events on its way to the one who reads it. */
export interface BodyWatcher {
  /** The limit of each event. */
  readonly maxMessageBytes: number;
  /** An event has this type, other than the default. */
  type?(type: string): void;
  /** It ended; with why, where it broke. Whatever was read has been handed on, and need not have been looked at yet. */
  end(error: unknown): void;
}

// Lines of types are short; of a longer one only the end is kept from one chunk to the next.
const keptLength = 1_024;
const typeLine = /(?:^|[\r\n])event: ?([^\r\n]*)(?=[\r\n])/g;

/** The same answer, watched. @throws through its body: ToolkitError `LIMIT_EXCEEDED` */
export function watchedBody(response: Response, watcher: BodyWatcher): Response {
  const { body, status, headers } = response;
  if (body === null) {
    watcher.end(undefined);
    return response;
  }
  const reader = body.getReader();
  const scanner = new Scanner(watcher);
  const watched = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          controller.close();
          watcher.end(undefined);
          return;
        }
        scanner.push(value);
        controller.enqueue(value);
      } catch (error) {
        reader.cancel(error).catch(() => {});
        controller.error(error);
        watcher.end(error);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(watched, { status, headers });
}

class Scanner {
  readonly #watcher: BodyWatcher;
  #rest = "\n";
  #size = 0;

  constructor(watcher: BodyWatcher) {
    this.#watcher = watcher;
  }

  push(chunk: Uint8Array): void {
    // Only ASCII is looked for: one character a byte is enough.
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength).toString("latin1");
    this.#measure(text);
    this.#look(text);
  }

  #measure(text: string): void {
    let start = 0;
    for (const end of text.matchAll(/\n\n|\r\n\r\n|\r\r/g)) {
      this.#grow(end.index - start);
      this.#size = 0;
      start = end.index + end[0].length;
    }
    this.#grow(text.length - start);
  }

  #look(text: string): void {
    const whole = this.#rest + text;
    for (const [, type = ""] of whole.matchAll(typeLine)) this.#watcher.type?.(type);
    const lastBreak = Math.max(whole.lastIndexOf("\n"), whole.lastIndexOf("\r"));
    this.#rest = whole.slice(Math.max(lastBreak, whole.length - keptLength));
  }

  #grow(bytes: number): void {
    this.#size += bytes;
    const { maxMessageBytes } = this.#watcher;
    if (this.#size > maxMessageBytes) throw tooLarge(maxMessageBytes, this.#size);
  }
}
