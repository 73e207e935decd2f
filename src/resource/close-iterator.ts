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
