import type { InteractionRouter } from "../call/interaction-router.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Connection, ServerInfo } from "../core/connection.ts";
import type { ConnectorMemory } from "../core/connector.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { Logger } from "../core/session.ts";
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
}

/** The owner of a connection. */
export interface ConnectionOwner {
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
