/** The options of a stream of events. */
export interface EventStreamOptions {
  /** The most events that wait to be read; beyond it the oldest are lost. Default 1,000. */
  readonly limit?: number | undefined;
  /** Ends the stream when it aborts. */
  readonly signal?: AbortSignal | undefined;
}

/** Where a stream takes its events from. */
export interface EventStreamSource<E> {
  /** Begins to listen; gives what ends it. */
  subscribe(listener: (event: E) => void): () => void;
  /** Makes the event that reports how many were lost. */
  lost(count: number): E;
}

/**
 * Events as an async iterable, bounded: a reader that is too slow loses the oldest, and gets their number in their place. It listens
 * from the moment it is made until it is returned from, or its signal aborts.
 */
export function eventStream<E>(
  source: EventStreamSource<E>,
  { limit = 1000, signal }: EventStreamOptions,
): AsyncIterableIterator<E> {
  const waiting: E[] = [];
  let lost = 0;
  let ended = false;
  /** Reads that wait for an event, in order. */
  const readers: ((result: IteratorResult<E>) => void)[] = [];

  const unsubscribe = source.subscribe((event) => {
    const reader = readers.shift();
    if (reader !== undefined) {
      reader({ done: false, value: event });
      return;
    }
    waiting.push(event);
    if (waiting.length > limit) {
      waiting.shift();
      lost += 1;
    }
  });
  const end = () => {
    ended = true;
    unsubscribe();
    signal?.removeEventListener("abort", end);
    for (const reader of readers.splice(0)) reader({ done: true, value: undefined });
  };
  if (signal?.aborted) end();
  else signal?.addEventListener("abort", end, { once: true });

  return {
    async next(): Promise<IteratorResult<E>> {
      if (lost > 0) {
        const value = source.lost(lost);
        lost = 0;
        return { done: false, value };
      }
      const value = waiting.shift();
      if (value !== undefined) return { done: false, value };
      return ended ? { done: true, value } : new Promise((resolve) => readers.push(resolve));
    },
    async return(): Promise<IteratorResult<E>> {
      waiting.length = 0;
      lost = 0;
      end();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}
