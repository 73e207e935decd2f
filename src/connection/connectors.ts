import type { Connection, ServerInfo } from "../core/connection.ts";
import type { Connector } from "../core/connector.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { assertNamespace, isFreeNamespace, toIdentifier } from "../core/identifier.ts";
import { withoutTokens } from "../lib/token-shape.ts";
import { type AddConnectorOptions, type ConnectDefaults, readSupervision } from "./connect-options.ts";
import type { ConnectionHost, ConnectionOwner } from "./connection-host.ts";
import { SupervisedConnection } from "./supervised-connection.ts";

/** The parts and options of a toolkit that its connectors share. */
export interface ConnectorsHost extends ConnectionHost, ConnectDefaults {}

/** The most characters of a server's own name that are read. */
const maxServerName = 256;

/** The time that the lists of a connection wait until the others have their tools, in milliseconds: one may be slow. */
const maxStartingMs = 250;

/** A connector and the namespace it is to have. */
export interface PlannedConnector {
  readonly connector: Connector;
  readonly namespace: string;
  /** Its name in the configuration. */
  readonly entry: string;
}

/** The connectors of a toolkit, and their namespaces. */
export class Connectors implements ConnectionOwner {
  readonly #host: ConnectorsHost;
  readonly #connections = new Set<SupervisedConnection>();
  readonly #lazy = new WeakSet<SupervisedConnection>();
  /** Connections that were removed and have not ended yet. */
  readonly #ending = new Map<SupervisedConnection, Promise<void>>();
  #started = false;
  #starting: Promise<unknown> | undefined;

  constructor(host: ConnectorsHost) {
    this.#host = host;
  }

  get connections(): readonly SupervisedConnection[] {
    return [...this.#connections];
  }

  /** The namespaces of all connections, those included that have not ended yet. */
  get unended(): readonly string[] {
    return [...this.#connections, ...this.#ending.keys()].map(({ namespace }) => namespace);
  }

  /**
   * Adds a connector. It connects at once where the others have started, unless it is lazy.
   *
   * @throws ToolkitError `CONFLICT`, `INVALID_NAME`, `RESERVED_NAME` or `INVALID_INPUT`
   */
  add(connector: Connector, options: AddConnectorOptions): SupervisedConnection {
    const { namespace, lazy = false } = options;
    if (namespace !== undefined) assertNamespace(namespace);
    const supervision = readSupervision(options, this.#host, connector);
    this.#assertNew(connector, namespace);
    const name = {
      namespace: namespace ?? this.#freeName(toIdentifier(connector.suggestedName ?? connector.label, "server")),
      isGiven: namespace !== undefined,
    };
    const connection = new SupervisedConnection(connector, name, supervision, this.#host, this);
    this.#connections.add(connection);
    if (lazy) this.#lazy.add(connection);
    else if (this.#started) connection.start();
    return connection;
  }

  /**
   * Adds several connectors, each under its name: all or none.
   *
   * @throws ToolkitError as `add` does
   */
  addAll(planned: readonly PlannedConnector[], options: AddConnectorOptions): readonly SupervisedConnection[] {
    assertDistinct(planned);
    const added: SupervisedConnection[] = [];
    try {
      for (const { connector, namespace } of planned) added.push(this.add(connector, { ...options, namespace }));
    } catch (error) {
      for (const connection of added) {
        connection
          .close()
          .catch((failure) =>
            this.#host.logger.error(`${connection.namespace} did not end: ${messageOf(failure)}`, { error: failure }),
          );
      }
      throw error;
    }
    return added;
  }

  /**
   * The connection of a namespace or URL, or the connection itself.
   *
   * @param keyOf - the key that connectors to one URL share
   * @throws ToolkitError `NOT_FOUND`; `CONFLICT` for a URL that several share
   */
  find(target: string | URL | Connection, keyOf: (url: URL) => string): SupervisedConnection {
    const { connections } = this;
    const found = connections.filter((connection) => connection === target || connection.namespace === target);
    const url = found.length > 0 ? undefined : urlOf(target);
    const key = url === undefined ? undefined : keyOf(url);
    if (key !== undefined) found.push(...connections.filter(({ connector }) => connector.key === key));
    const [connection, other] = found;
    const shown = key === undefined ? undefined : (connection?.label ?? withoutTokens(key));
    if (other !== undefined) {
      const owners = found.map(({ namespace }) => namespace);
      const message = `${shown} belongs to several connectors: name one of ${owners.join(", ")}.`;
      throw new ToolkitError("CONFLICT", message, { key: String(shown), owners });
    }
    if (connection !== undefined) return connection;
    const name = shown ?? (typeof target === "string" ? target : String((target as Connection | undefined)?.namespace));
    const suggestions = connections.map(({ namespace }) => namespace);
    const known = suggestions.length === 0 ? "There are no connectors" : `There are ${suggestions.join(", ")}`;
    throw new ToolkitError("NOT_FOUND", `There is no connector "${name}". ${known}.`, { key: name, suggestions });
  }

  /** Starts all that are not lazy; resolves when each has its tools or failed once, or took longer than `startTimeoutMs`. */
  async start(): Promise<void> {
    this.#started = true;
    const eager = this.connections.filter((connection) => !this.#lazy.has(connection));
    for (const connection of eager) connection.start();
    const begun = Promise.all(eager.map((connection) => connection.settling));
    const limit = Promise.withResolvers<void>();
    const timer = this.#host.clock.setTimer(limit.resolve, maxStartingMs);
    // A turn of the event loop later: the caller of `start` goes on before the requests for the other lists are made.
    const isLeft = begun.then(() => new Promise(setImmediate));
    this.#starting = Promise.race([isLeft, limit.promise]).finally(() => {
      timer.cancel();
      this.#starting = undefined;
    });
    await begun;
  }

  get starting(): Promise<unknown> | undefined {
    return this.#starting;
  }

  /** Undefined once all that have started have listed everything, or have had their time for it; else resolves then. */
  get settlingWhole(): Promise<unknown> | undefined {
    const started = this.connections.filter(({ state }) => state !== "idle");
    const waits = started.flatMap((each) => each.settlingWhole ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  /** Ends all connections, those included that were removed and have not ended yet. */
  async close(): Promise<void> {
    await Promise.all([...this.connections.map((connection) => connection.close()), ...this.#ending.values()]);
  }

  nameFor(connection: SupervisedConnection, server: ServerInfo): string {
    const wanted = toIdentifier(server.name.slice(0, maxServerName), connection.namespace);
    if (wanted === connection.namespace) return wanted;
    const name = this.#freeName(wanted);
    if (name !== wanted) connection.warn(`Another namespace is called "${wanted}" already, so this one is "${name}".`);
    return name;
  }

  /** Removes a connection that has stopped, for whatever reason. `close` waits for its end. */
  removed(connection: SupervisedConnection): void {
    this.#connections.delete(connection);
    const ending = connection.close().finally(() => this.#ending.delete(connection));
    this.#ending.set(connection, ending);
  }

  /** Two connectors to one place are a mistake, unless both were given different names. */
  #assertNew({ key, label }: Connector, namespace: string | undefined): void {
    if (key === undefined) return;
    for (const other of this.#connections) {
      if (other.connector.key !== key) continue;
      if (namespace !== undefined && other.hasGivenName && namespace !== other.namespace) continue;
      const same = /^https?:/.test(key) ? " The query and the user info of a URL do not count." : "";
      const message = `${label} is connected already, as "${other.namespace}".${same} Give both connectors explicit, different namespaces.`;
      throw new ToolkitError("CONFLICT", message, { key: label, owners: [other.namespace] });
    }
  }

  #freeName(wanted: string): string {
    const base = wanted.slice(0, 60);
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? wanted : `${base}${number}`;
      if (isFreeNamespace(name) && this.#host.catalog.namespace(name) === undefined) return name;
    }
  }
}

/** Different names can become the same identifier. */
function assertDistinct(planned: readonly PlannedConnector[]): void {
  const entries = new Map<string, string>();
  for (const { entry, namespace } of planned) {
    const other = entries.get(namespace);
    if (other !== undefined) {
      const message = `The servers ${JSON.stringify(other)} and ${JSON.stringify(entry)} both get the namespace "${namespace}": rename one of them in the configuration.`;
      throw new ToolkitError("CONFLICT", message, { key: namespace, owners: [other, entry] });
    }
    entries.set(namespace, entry);
  }
}

function urlOf(target: string | URL | Connection): URL | undefined {
  if (target instanceof URL) return target;
  return typeof target === "string" && URL.canParse(target) ? new URL(target) : undefined;
}
