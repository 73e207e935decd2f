import type { Connection } from "../core/connection.ts";

/** A connection as `status` shows it: of this process, or of a service that is asked. */
export interface ConnectionStatus
  extends Pick<
    Connection,
    | "namespace"
    | "label"
    | "trust"
    | "transport"
    | "state"
    | "since"
    | "protocolVersion"
    | "counts"
    | "attempts"
    | "nextAttemptAt"
    | "latencyMs"
    | "callsInFlight"
    | "processId"
    | "warnings"
  > {
  readonly server: { readonly name: string; readonly version?: string | undefined } | undefined;
  readonly lastError: string | undefined;
}

/** The state of a connection now, as JSON. */
export function statusOf(connection: Connection): ConnectionStatus {
  const { namespace, label, trust, transport, state, since, protocolVersion, counts, lastError, attempts } = connection;
  const { nextAttemptAt, latencyMs, callsInFlight, processId, warnings, server } = connection;
  const shown = { namespace, label, trust, transport, state, since, protocolVersion, counts, attempts, nextAttemptAt };
  return { ...shown, latencyMs, callsInFlight, processId, warnings, server, lastError: lastError?.message };
}

/** The events after which a status is another. */
export const statusEvents = [
  "connectorConnected",
  "connectorDisconnected",
  "connectorRemoved",
  "toolListChanged",
  "promptListChanged",
  "resourceListChanged",
] as const;
