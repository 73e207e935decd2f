import type { InteractionRouter } from "../call/interaction-router.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Connection, ServerInfo } from "../core/connection.ts";
import type { ConnectorMemory } from "../core/connector.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { Logger } from "../core/session.ts";
import type { Store } from "../core/store.ts";
import type { Clock } from "../lib/clock.ts";
import type { ToolkitPins } from "../pins/pins.ts";

/** The parts of a toolkit that all its connections share. */
export interface ConnectionHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly interactions: InteractionRouter;
  readonly pins: ToolkitPins;
  /** Keeps what connectors found out. */
  readonly memory: ConnectorMemory;
  emit(event: ToolkitEvent): void;
  /** True where rules of the toolkit choose items by bare names: what these mean depends on everything that may have them. */
  hasBareRules(): boolean;
}

/** The owner of a connection. */
export interface ConnectionOwner {
  /** Undefined where no connection is starting; else resolves when each has its tools, or soon. */
  readonly starting: Promise<unknown> | undefined;
  /** The namespace of a connection that was given none, once its server has said its name. */
  nameFor(connection: Connection, server: ServerInfo): string;
  /** The connection has stopped for good. */
  removed(connection: Connection): void;
}

/** The namespace of a connection, and whether it was given rather than learnt from the server. */
export interface ConnectionName {
  readonly namespace: string;
  readonly isGiven: boolean;
}

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

/** The verdicts of connectors about their targets, in the store of the toolkit: replicas share it, and a restart loses nothing. */
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
