import type { ConnectorMemory } from "../core/connector.ts";
import type { Store } from "../core/store.ts";

/** The parts of a toolkit that the memory needs. */
export interface TargetMemoryHost {
  readonly store: Store;
  /** Keeps the store open until a write is done. */
  hold(work: Promise<unknown>): void;
  /** Aborts when the toolkit begins to close. */
  readonly closing: AbortSignal;
}

/** The time a store has to give what it has: a connection must not wait for it. */
const recallMs = 1_000;

/** What connectors found out of their targets, in the store of the toolkit: replicas share it, and a restart loses nothing. */
export class TargetMemory implements ConnectorMemory {
  readonly #host: TargetMemoryHost;

  constructor(host: TargetMemoryHost) {
    this.#host = host;
  }

  async recall(key: string): Promise<unknown> {
    const limit = new AbortController();
    const { store } = this.#host;
    const timer = setTimeout(() => limit.abort(new Error(`no answer within ${recallMs} ms`)), recallMs);
    try {
      return (await store.get(keyOf(key), { signal: limit.signal }))?.value;
    } catch {
      // It is found out again. What is wrong with the store shows where items are kept in it.
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  keep(key: string, value: unknown): void {
    const { store, hold, closing } = this.#host;
    if (closing.aborted) return;
    // A failure is dealt with as in recall.
    hold(store.put({ ...keyOf(key), value }));
  }
}

function keyOf(key: string) {
  return { collection: "target", owner: "", key } as const;
}
