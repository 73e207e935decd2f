import type { Namespace } from "../catalog/namespace.ts";
import type { ConnectionState, ServerInfo } from "../core/connection.ts";
import type { Connector, ConnectorSession, ServerProcess } from "../core/connector.ts";
import type { Entry, Kind } from "../core/item.ts";
import type { ConnectionLog } from "./connection-log.ts";
import { type ConnectionSnapshot, snapshotOf } from "./connection-snapshot.ts";
import type { RemoteGeneration } from "./generation.ts";
import type { InFlightRequests } from "./in-flight-requests.ts";
import type { RemoteCatalog } from "./remote-catalog.ts";
import type { Supervisor } from "./supervisor.ts";

/** The parts of a connection there is something to see of. */
export interface ConnectionParts {
  readonly supervisor: Supervisor<RemoteGeneration>;
  readonly namespace: Namespace;
  readonly catalog: RemoteCatalog;
  readonly reports: ConnectionLog;
  readonly requests: InFlightRequests;
}

/** What an operator sees of a connection: all of it live, none of it changed by looking. */
export abstract class ConnectionView {
  readonly connector: Connector;
  #lastSession: ConnectorSession | undefined;
  /** The last there was, where the connector tells of it before its handshake. */
  #process: ServerProcess | undefined;

  constructor(connector: Connector) {
    this.connector = connector;
  }

  protected abstract get parts(): ConnectionParts;

  /** A session has begun: what it says of its server is shown from now on, also when it has ended. */
  protected met(session: ConnectorSession): void {
    this.#lastSession = session;
  }

  /** A child process runs: what it writes is shown from now on, also when it has ended. */
  protected begun(process: ServerProcess): void {
    this.#process = process;
  }

  get namespace(): string {
    return this.parts.namespace.name;
  }

  get label(): string {
    return this.connector.label;
  }

  get transport(): string | undefined {
    return this.#lastSession?.transport;
  }

  get state(): ConnectionState {
    return this.parts.supervisor.state;
  }

  get since(): number {
    return this.parts.supervisor.since;
  }

  get server(): ServerInfo | undefined {
    return this.#lastSession?.server;
  }

  get protocolVersion(): string | undefined {
    return this.server?.protocolVersion;
  }

  get counts(): Readonly<Record<Kind, number>> {
    const count = (kind: Kind) => this.parts.namespace.count(kind);
    return { tool: count("tool"), prompt: count("prompt"), resource: count("resource"), template: count("template") };
  }

  get lastError(): Error | undefined {
    return this.parts.supervisor.lastError;
  }

  get attempts(): number {
    return this.parts.supervisor.attempts;
  }

  get nextAttemptAt(): number | undefined {
    return this.parts.supervisor.nextAttemptAt;
  }

  get latencyMs(): number | undefined {
    return this.parts.requests.latencyMs;
  }

  get callsInFlight(): number {
    return this.parts.requests.size;
  }

  get processId(): number | undefined {
    return (this.parts.supervisor.generation?.session ?? this.#process)?.processId;
  }

  get stderr(): string | undefined {
    return (this.#process ?? this.#lastSession)?.stderr?.();
  }

  get warnings(): readonly string[] {
    return [...this.parts.reports.warnings, ...this.parts.catalog.warnings];
  }

  list<K extends Kind>(kind: K): readonly Entry<K>[] {
    return this.parts.namespace.entries(kind);
  }

  /** For logs and the console. */
  toJSON(): ConnectionSnapshot {
    return snapshotOf(this);
  }

  [Symbol.for("nodejs.util.inspect.custom")](): ConnectionSnapshot {
    return snapshotOf(this);
  }
}
