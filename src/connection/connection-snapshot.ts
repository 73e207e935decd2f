import type { Connection, ConnectionState } from "../core/connection.ts";
import type { Kind } from "../core/item.ts";

/** What there is to see of a connection at one moment, as plain data. */
export interface ConnectionSnapshot {
  readonly namespace: string;
  readonly label: string;
  readonly transport: string | undefined;
  readonly state: ConnectionState;
  /** ISO 8601, as every time here. */
  readonly since: string;
  readonly server: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly counts: Readonly<Record<Kind, number>>;
  readonly lastError: string | undefined;
  readonly attempts: number;
  readonly nextAttemptAt: string | undefined;
  readonly latencyMs: number | undefined;
  readonly callsInFlight: number;
  readonly processId: number | undefined;
  readonly warnings: readonly string[];
}

/** What it is taken down from: a connection, without what can be done with it. */
type Seen = Omit<Connection, "list" | "ready" | "reconnect" | "close">;

/** Takes down what there is to see now. */
export function snapshotOf(connection: Seen): ConnectionSnapshot {
  const { server, since, lastError, nextAttemptAt, latencyMs } = connection;
  const { namespace, label, transport, state, protocolVersion, counts, attempts, callsInFlight, processId, warnings } =
    connection;
  return {
    namespace,
    label,
    transport,
    state,
    since: new Date(since).toISOString(),
    server: server === undefined ? undefined : [server.name, server.version].filter(Boolean).join(" "),
    protocolVersion,
    counts,
    lastError: lastError?.message,
    attempts,
    nextAttemptAt: nextAttemptAt === undefined ? undefined : new Date(nextAttemptAt).toISOString(),
    latencyMs: latencyMs === undefined ? undefined : Math.round(latencyMs * 100) / 100,
    callsInFlight,
    processId,
    warnings,
  };
}
