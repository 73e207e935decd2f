import type { InteractionRouter } from "../call/interaction-router.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { ServerInfo } from "../core/connection.ts";
import type { Connector } from "../core/connector.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { assertNamespace, isFreeNamespace, toIdentifier } from "../core/identifier.ts";
import type { Logger } from "../core/session.ts";
import type { Clock } from "../lib/clock.ts";
import { type AddConnectorOptions, type ConnectDefaults, readSupervision } from "./connect-options.ts";
import { SupervisedConnection } from "./supervised-connection.ts";

/** What the connectors of a toolkit share. */
export interface ConnectorsHost extends ConnectDefaults {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly interactions: InteractionRouter;
  emit(event: ToolkitEvent): void;
}

/** No more is looked at of the name a server gives itself. */
const maxServerName = 256;

/** A connector and the namespace it is to have. */
export interface PlannedConnector {
  readonly connector: Connector;
  readonly namespace: string;
  /** What the configuration calls it. */
  readonly entry: string;
}

/** The connectors of a toolkit: which there are, under which names. */
export class Connectors {
  readonly #host: ConnectorsHost;
  readonly #connections = new Set<SupervisedConnection>();
  readonly #lazy = new WeakSet<SupervisedConnection>();
  /** Taken out, and not ended yet. */
  readonly #ending = new Map<SupervisedConnection, Promise<void>>();
  #started = false;

  constructor(host: ConnectorsHost) {
    this.#host = host;
  }

  get connections(): readonly SupervisedConnection[] {
    return [...this.#connections];
  }

  /**
   * Takes a connector in. It connects at once where the others have started, unless it is lazy.
   *
   * @throws ToolkitError `CONFLICT`, `INVALID_NAME`, `RESERVED_NAME` or `INVALID_INPUT`
   */
  add(connector: Connector, options: AddConnectorOptions): SupervisedConnection {
    const { namespace, lazy = false } = options;
    if (namespace !== undefined) assertNamespace(namespace);
    const supervision = readSupervision(options, this.#host, connector);
    this.#assertNew(connector, namespace);
    const name = namespace ?? this.#freeName(toIdentifier(connector.suggestedName ?? connector.label, "server"));
    const connection = new SupervisedConnection(
      connector,
      { namespace: name, fixed: namespace !== undefined },
      supervision,
      {
        ...this.#host,
        nameFor: (named, server) => this.#nameFor(named, server),
        removed: (gone) => this.#forget(gone),
      },
    );
    this.#connections.add(connection);
    if (lazy) this.#lazy.add(connection);
    else if (this.#started) connection.start();
    return connection;
  }

  /** The namespaces of those that are there, or are still ending. */
  get unended(): readonly string[] {
    return [...this.#connections, ...this.#ending.keys()].map(({ namespace }) => namespace);
  }

  /**
   * Takes several in, each under its name: all or none.
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

  /** Starts all that are not lazy; resolves when each has connected or failed once, or took longer than `startTimeoutMs`. */
  async start(): Promise<void> {
    this.#started = true;
    const eager = this.connections.filter((connection) => !this.#lazy.has(connection));
    for (const connection of eager) connection.start();
    await Promise.all(eager.map((connection) => connection.settled()));
  }

  /** Ends all, and whatever is still ending. */
  async close(): Promise<void> {
    await Promise.all([...this.connections.map((connection) => connection.close()), ...this.#ending.values()]);
  }

  /** Takes out a connection that has stopped, whoever stopped it. What it leaves behind is waited for when all is closed. */
  #forget(connection: SupervisedConnection): void {
    this.#connections.delete(connection);
    const ending = connection.close().finally(() => this.#ending.delete(connection));
    this.#ending.set(connection, ending);
  }

  /** Two connectors to one place are a mistake, unless both were given names that differ. */
  #assertNew({ key, label }: Connector, namespace: string | undefined): void {
    if (key === undefined) return;
    for (const other of this.#connections) {
      if (other.connector.key !== key) continue;
      if (namespace !== undefined && other.nameGiven && namespace !== other.namespace) continue;
      const same = /^https?:/.test(key) ? " The query and the user info of a URL do not count." : "";
      const message = `${label} is connected already, as "${other.namespace}".${same} Give both connectors explicit, different namespaces.`;
      throw new ToolkitError("CONFLICT", message, { key, owners: [other.namespace] });
    }
  }

  #nameFor(connection: SupervisedConnection, server: ServerInfo): string {
    const wanted = toIdentifier(server.name.slice(0, maxServerName), connection.namespace);
    if (wanted === connection.namespace) return wanted;
    const name = this.#freeName(wanted);
    if (name !== wanted) connection.warn(`Another namespace is called "${wanted}" already, so this one is "${name}".`);
    return name;
  }

  #freeName(wanted: string): string {
    const base = wanted.slice(0, 60);
    for (let number = 1; ; number += 1) {
      const name = number === 1 ? wanted : `${base}${number}`;
      if (isFreeNamespace(name) && this.#host.catalog.namespace(name) === undefined) return name;
    }
  }
}

/** Names that differ can become the same identifier. */
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
