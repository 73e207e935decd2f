import type { Connection } from "../core/connection.ts";
import type { Connector } from "../core/connector.ts";
import { connectorLimitNames } from "../core/connector-limits.ts";
import { ToolkitError } from "../core/error.ts";
import type { ConnectorTarget } from "../core/target.ts";
import { type AddConnectorOptions, type MakingOptions, makingOptions } from "./connect-options.ts";
import type { SupervisedConnection } from "./supervised-connection.ts";

/** What a connector is made with, and knows for itself once it is. */
const ownOptions = [
  "headers",
  "auth",
  ...connectorLimitNames.filter((name) => name !== "maxConcurrentCalls"),
] as const satisfies readonly (keyof AddConnectorOptions)[];

/**
 * The connector of a target: a Connector is its own, of anything else one is made.
 *
 * @throws ToolkitError `INVALID_TARGET`; `INVALID_CONFIG` for an option there is not; `RESERVED_NAME` for `connector:user`; whatever `make` throws
 */
export function connectorOf(
  target: ConnectorTarget | Connector,
  options: AddConnectorOptions,
  make: (target: ConnectorTarget, options: MakingOptions) => Connector,
): Connector {
  const making = makingOptions(options);
  if (isConnector(target)) {
    const [option] = ownOptions.filter((name) => options[name] !== undefined);
    if (option === undefined) return target;
    throw invalidTarget(`Give a Connector its ${option} where it is made: here it is for a target.`, target.label);
  }
  if (target === "connector:user") {
    const message = '"connector:user" is reserved for the user namespace, which a store fills.';
    throw new ToolkitError("RESERVED_NAME", message, { name: target });
  }
  if (typeof target === "object" && target !== null && ("mcpServers" in target || "mcp_servers" in target)) {
    throw invalidTarget("This configuration names several servers: give it to addConnectors.", "mcpServers");
  }
  return make(target, making);
}

/**
 * The connection that is meant by its namespace, its URL, or itself.
 *
 * @param keyOf - what two connectors to one URL share
 * @throws ToolkitError `NOT_FOUND`; `CONFLICT` for a URL that several share
 */
export function connectionOf(
  connections: readonly SupervisedConnection[],
  target: string | URL | Connection,
  keyOf: (url: URL) => string,
): SupervisedConnection {
  const found = connections.filter((connection) => connection === target || connection.namespace === target);
  const url = found.length > 0 ? undefined : urlOf(target);
  const key = url === undefined ? undefined : keyOf(url);
  if (key !== undefined) found.push(...connections.filter((connection) => connection.connector.key === key));
  const [connection, other] = found;
  if (other !== undefined) {
    const owners = found.map(({ namespace }) => namespace);
    const message = `${key} belongs to several connectors: name one of ${owners.join(", ")}.`;
    throw new ToolkitError("CONFLICT", message, { key: String(key), owners });
  }
  if (connection !== undefined) return connection;
  const name = key ?? (typeof target === "string" ? target : String((target as Connection | undefined)?.namespace));
  const names = connections.map(({ namespace }) => namespace);
  const known = names.length === 0 ? "There are no connectors" : `There are ${names.join(", ")}`;
  throw new ToolkitError("NOT_FOUND", `There is no connector "${name}". ${known}.`, { key: name, suggestions: names });
}

function isConnector(target: ConnectorTarget | Connector): target is Connector {
  return typeof target === "object" && target !== null && typeof (target as Connector).connect === "function";
}

function urlOf(target: string | URL | Connection): URL | undefined {
  if (target instanceof URL) return target;
  return typeof target === "string" && URL.canParse(target) ? new URL(target) : undefined;
}

function invalidTarget(message: string, target: string): ToolkitError<"INVALID_TARGET"> {
  return new ToolkitError("INVALID_TARGET", message, { target });
}
