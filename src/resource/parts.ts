import type { Content } from "../core/resource.ts";
import { abortable } from "../lib/promise.ts";

/** The options of collecting parts. */
export interface PartsOptions {
  /** Makes a Content of each part that was given; `index` counts from 0. */
  readonly convert: (value: unknown, index: number) => Content | Promise<Content>;
  /** Called with each part as it comes. */
  readonly onPart: ((part: Content) => void) | undefined;
  readonly signal: AbortSignal | undefined;
}

/**
 * Collects the parts of an async iterable, which is closed with `return()` when the signal aborts, a part cannot be converted or
 * `onPart` throws.
 *
 * @throws what the iterable, a conversion or `onPart` throws; the signal's reason when it aborts
 */
export async function collectParts(iterable: AsyncIterable<unknown>, options: PartsOptions): Promise<Content[]> {
  const { convert, onPart, signal } = options;
  const iterator = iterable[Symbol.asyncIterator]();
  const parts: Content[] = [];
  for (;;) {
    let value: unknown;
    try {
      signal?.throwIfAborted();
      const result = await abortable(iterator.next(), signal);
      if (result.done === true) return parts;
      value = result.value;
    } catch (error) {
      // An iterator that threw is closed; one that was left waiting is not.
      if (signal?.aborted === true) closeIterator(iterator);
      throw error;
    }
    try {
      const part = await abortable(Promise.resolve(convert(value, parts.length)), signal);
      onPart?.(part);
      parts.push(part);
    } catch (error) {
      closeIterator(iterator);
      throw error;
    }
  }
}

import { runDetached } from "../lib/promise.ts";

/**
 * Closes an iterator and waits for nothing: a generator answers `return()` only after the step it is in, which may never end. How
 * closing goes is ignored, since the reason for closing is what counts.
 */
export function closeIterator(iterator: AsyncIterator<unknown>): void {
  runDetached(
    () => iterator.return?.(),
    () => undefined,
  );
}
