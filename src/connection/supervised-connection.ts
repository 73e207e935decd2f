import type { InteractionRouter } from "../call/interaction-router.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Namespace } from "../catalog/namespace.ts";
import type { Connection, ServerInfo } from "../core/connection.ts";
import type { Connector } from "../core/connector.ts";
import type { ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import type { ListFailure } from "../core/item.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Logger } from "../core/session.ts";
import { type Clock, keepProcessAlive } from "../lib/clock.ts";
import { FirstAttempt } from "../lib/first-attempt.ts";
import { withoutInvisible } from "../lib/visible-text.ts";
import type { SupervisionOptions } from "./connect-options.ts";
import { inNamespace, stopped, unavailable } from "./connection-error.ts";
import { ConnectionLog } from "./connection-log.ts";
import { ConnectionRequests } from "./connection-requests.ts";
import { type ConnectionParts, ConnectionView } from "./connection-view.ts";
import { type GenerationHost, openGeneration, type RemoteGeneration } from "./generation.ts";
import { RemoteCatalog } from "./remote-catalog.ts";
import type { RemoteLink } from "./remote-items.ts";
import { ServerRequests } from "./server-requests.ts";
import { Subscriptions } from "./subscriptions.ts";
import { Supervisor, type SupervisorChange } from "./supervisor.ts";

/** The parts of a toolkit that all its connections share. */
export interface ConnectionHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly interactions: InteractionRouter;
  emit(event: ToolkitEvent): void;
}

/** The owner of a connection. */
export interface ConnectionOwner {
  /** The namespace of a connection that was given none, once its server has said its name. */
  nameFor(connection: SupervisedConnection, server: ServerInfo): string;
  /** The connection has stopped for good. */
  removed(connection: SupervisedConnection): void;
}

/** The namespace of a connection, and whether it was given rather than learnt from the server. */
export interface ConnectionName {
  readonly namespace: string;
  readonly isGiven: boolean;
}

/** A connector under supervision: its namespace holds the items of the server, which work in whichever session is the current one. */
export class SupervisedConnection extends ConnectionView implements Connection {
  readonly hasGivenName: boolean;
  readonly trust: "standard" | "untrusted";
  protected readonly parts: ConnectionParts & GenerationHost;
  readonly #host: ConnectionHost;
  readonly #owner: ConnectionOwner;
  readonly #firstAttempt = new FirstAttempt();
  #hasFinalName: boolean;
  #downSince: number;

  constructor(
    connector: Connector,
    name: ConnectionName,
    options: SupervisionOptions,
    host: ConnectionHost,
    owner: ConnectionOwner,
  ) {
    super(connector);
    this.#host = host;
    this.#owner = owner;
    this.hasGivenName = name.isGiven;
    this.trust = options.trust;
    this.#hasFinalName = name.isGiven;
    this.#downSince = host.clock.now();
    this.parts = this.#makeParts(this.#mount(name.namespace), options);
  }

  start(): void {
    if (this.state !== "idle") return;
    this.#firstAttempt.limit(this.#host.clock, this.parts.options.startTimeoutMs);
    this.parts.supervisor.start();
  }

  /** Resolves when the first attempt has succeeded or failed, or took longer than `startTimeoutMs`. */
  async settled(): Promise<void> {
    await this.#firstAttempt.pending;
  }

  async ready({ signal }: ReadOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    this.start();
    if (this.session !== undefined) return;
    // The timers of the supervisor do not keep the process alive, and it must not end before this does.
    const release = keepProcessAlive(this.#host.clock);
    try {
      await this.parts.requests.connected(signal);
    } finally {
      release();
    }
  }

  reconnect(): void {
    if (this.state === "stopped") throw stopped(this.namespace, this.attempts, undefined);
    if (this.state === "idle") this.start();
    else this.parts.supervisor.reconnect();
  }

  async close(): Promise<void> {
    await this.parts.supervisor.stop();
  }

  /** Warns the operator, once, of a problem that affects nothing else. */
  warn(message: string): void {
    this.parts.log.warn(message);
  }

  /** The error that says why it is not connected. */
  unavailable(): ToolkitError<"UNAVAILABLE"> {
    const { namespace, label, nextAttemptAt } = this;
    // Not `lastError`, which quotes what the server printed: a caller gets this.
    const cause = this.parts.supervisor.lastError;
    const now = this.#host.clock.now();
    const retryInMs = nextAttemptAt === undefined ? undefined : Math.max(0, Math.round(nextAttemptAt - now));
    return unavailable({ namespace, label, cause, retryInMs });
  }

  #mount(name: string): Namespace {
    return this.#host.catalog.mount(name, {
      connection: this,
      settling: (start) => {
        if (start) this.start();
        return this.#firstAttempt.pending;
      },
      failures: () => this.#failures(),
      subscribe: (uri, given) => this.parts.subscriptions.add(uri, given),
    });
  }

  #makeParts(namespace: Namespace, options: SupervisionOptions): ConnectionParts & GenerationHost {
    const { connector } = this;
    const { catalog, clock, logger, interactions, random } = this.#host;
    const log = new ConnectionLog(logger, this);
    const requests = new ConnectionRequests(this, { ...options, clock });
    const connection = this;
    const link: RemoteLink = {
      label: connector.label,
      timeoutMs: options.timeoutMs,
      requests,
      get untrusted() {
        return options.trust === "untrusted" ? connection.namespace : undefined;
      },
    };
    const host: GenerationHost = {
      clock,
      options,
      log,
      requests,
      catalog: new RemoteCatalog({ catalog, namespace, link, clock, log, allow: options.allow }),
      serverRequests: new ServerRequests({
        interactions,
        connection: this,
        requests,
        log,
        limits: options.interaction,
        trust: options.trust,
        clock,
      }),
      subscriptions: new Subscriptions({ link, log, updated: (uri) => this.#updated(uri) }),
      started: (process) => {
        this.latestProcess = process;
      },
    };
    const supervisor = new Supervisor<RemoteGeneration>({
      ...options,
      clock,
      random,
      open: async (signal, pause) => {
        try {
          return await openGeneration(connector, host, { signal, pause });
        } catch (error) {
          throw inNamespace(error, this.namespace, "");
        }
      },
      timedOut: () => new Error(`no answer from ${connector.label} within ${options.connectTimeoutMs} ms`),
      onChange: (change) => this.#changed(change),
      onError: (error) => log.failed(error),
    });
    return { ...host, supervisor, namespace };
  }

  #changed({ from, to, generation, error, retryInMs }: SupervisorChange<RemoteGeneration>): void {
    if (to === "connected" && generation !== undefined) {
      this.#connected(generation);
      return;
    }
    if (from === "connected") {
      this.parts.requests.pause();
      this.#downSince = this.#host.clock.now();
      this.parts.namespace.setStale(true);
    }
    if (to === "stopped") {
      this.#stopped(error);
      return;
    }
    if (error === undefined && from !== "connected") return;
    if (error !== undefined) {
      this.#firstAttempt.settle();
      this.parts.log.disconnected(error, this.attempts);
    }
    const { namespace, attempts } = this;
    this.#host.emit({
      type: "connectorDisconnected",
      namespace,
      connection: this,
      error,
      attempts,
      retryInMs: retryInMs === undefined ? undefined : Math.round(retryInMs),
    });
  }

  #connected(generation: RemoteGeneration): void {
    const { session, lists } = generation;
    const { capabilities, ...described } = session.server;
    const server = { ...(withoutInvisible(described) as typeof described), capabilities };
    const { namespace, log, catalog, requests, subscriptions } = this.parts;
    requests.resume(session);
    this.latestSession = session;
    this.latestServer = server;
    if (!this.#hasFinalName) {
      this.#hasFinalName = true;
      this.#host.catalog.rename(namespace, this.#owner.nameFor(this, server));
    }
    log.connected(this.label);
    namespace.setStale(false);
    this.#host.emit({ type: "connectorConnected", namespace: namespace.name, connection: this, server });
    catalog.apply(lists);
    this.#firstAttempt.settle();
    generation.begin();
    subscriptions.renew(session);
  }

  #updated(uri: string): void {
    this.#host.emit({ type: "resourceUpdated", namespace: this.namespace, uri, connection: this });
  }

  #stopped(error: Error | undefined): void {
    this.#host.catalog.unmount(this.parts.namespace);
    this.#firstAttempt.settle();
    this.parts.requests.stop(stopped(this.namespace, this.attempts, error));
    this.#host.emit({ type: "connectorRemoved", namespace: this.namespace, connection: this, error });
    this.#owner.removed(this);
  }

  #failures(): readonly ListFailure[] {
    const { state } = this;
    if (state === "idle" || state === "stopped") return [];
    if (state === "connected") return this.parts.catalog.failures;
    return [{ namespace: this.namespace, error: this.unavailable(), since: this.#downSince }];
  }
}
