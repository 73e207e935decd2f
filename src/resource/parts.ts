import type { Content } from "../core/resource.ts";
import { untilAborted } from "./abort.ts";

/** How parts are collected. */
export interface PartsOptions {
  /** Makes a Content of each part that was given; `index` counts from 0. */
  readonly convert: (value: unknown, index: number) => Content | Promise<Content>;
  /** Hears each part as it comes. */
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
      const result = await untilAborted(iterator.next(), signal);
      if (result.done === true) return parts;
      value = result.value;
    } catch (error) {
      // An iterator that threw is closed; one that was left waiting is not.
      if (signal?.aborted === true) abandon(iterator);
      throw error;
    }
    try {
      const part = await untilAborted(Promise.resolve(convert(value, parts.length)), signal);
      onPart?.(part);
      parts.push(part);
    } catch (error) {
      abandon(iterator);
      throw error;
    }
  }
}

// Nobody waits: a generator answers return() only after the step it is in, which may never end.
function abandon(iterator: AsyncIterator<unknown>): void {
  try {
    Promise.resolve(iterator.return?.()).catch(ignore);
  } catch {
    // It failed to close: why it was closed is what counts.
  }
}

function ignore(): void {}
