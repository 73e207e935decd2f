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
import type { Clock } from "../lib/clock.ts";
import { Availability } from "./availability.ts";
import type { SupervisionOptions } from "./connect-options.ts";
import { relabelled, stopped, unavailable } from "./connection-error.ts";
import { ConnectionLog } from "./connection-log.ts";
import { type ConnectionParts, ConnectionView } from "./connection-view.ts";
import { type GenerationHost, openGeneration, type RemoteGeneration } from "./generation.ts";
import { type InFlightRequest, InFlightRequests } from "./in-flight-requests.ts";
import { RemoteCatalog } from "./remote-catalog.ts";
import type { RemoteLink } from "./remote-items.ts";
import { logRemote } from "./remote-log.ts";
import { ServerRequests } from "./server-requests.ts";
import { Subscriptions } from "./subscriptions.ts";
import { Supervisor, type SupervisorChange } from "./supervisor.ts";

/** What a connection is made with. */
export interface ConnectionHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  readonly interactions: InteractionRouter;
  emit(event: ToolkitEvent): void;
  /** The namespace for a server that has said its name, where none was given. */
  nameFor(connection: SupervisedConnection, server: ServerInfo): string;
  /** It has ended for good. */
  removed(connection: SupervisedConnection): void;
}

/** A connector under supervision: its namespace holds what the server has, and its items work whichever generation there is. */
export class SupervisedConnection extends ConnectionView implements Connection, RemoteLink {
  /** Whether the namespace was given, rather than learnt from the server. */
  readonly nameGiven: boolean;
  readonly #host: ConnectionHost;
  readonly #options: SupervisionOptions;
  readonly #supervisor: Supervisor<RemoteGeneration>;
  readonly #catalog: RemoteCatalog;
  readonly #namespace: Namespace;
  readonly #reports: ConnectionLog;
  #nameFixed: boolean;
  #downSince: number;
  readonly #presence: Availability<RemoteGeneration>;
  readonly #requests: InFlightRequests;
  readonly #questions: ServerRequests;
  readonly #subscriptions: Subscriptions;
  readonly #parts: ConnectionParts;

  constructor(
    connector: Connector,
    name: { readonly namespace: string; readonly fixed: boolean },
    options: SupervisionOptions,
    host: ConnectionHost,
  ) {
    super(connector);
    this.#host = host;
    this.#options = options;
    this.nameGiven = name.fixed;
    this.#nameFixed = name.fixed;
    const { catalog, clock, logger } = host;
    this.#reports = new ConnectionLog(logger, () => this.namespace);
    this.#downSince = clock.now();
    this.#namespace = catalog.mount(name.namespace, {
      connection: this,
      settling: (start) => {
        if (start) this.start();
        return this.#presence.settling;
      },
      failures: () => this.#failures(),
      subscribe: (uri, given) => this.#subscriptions.add(uri, given),
    });
    this.#subscriptions = new Subscriptions({
      link: this,
      session: () => this.#supervisor.generation?.session,
      updated: (uri) => this.#updated(uri),
      warn: (message) => this.warn(message),
    });
    this.#requests = new InFlightRequests(clock, () => this.namespace, options.maxConcurrentCalls);
    this.#questions = new ServerRequests({
      interactions: host.interactions,
      requests: this.#requests,
      namespace: () => this.namespace,
      warn: (message) => this.warn(message),
    });
    this.#presence = new Availability<RemoteGeneration>({
      ...options,
      clock,
      start: () => this.start(),
      current: () => this.#supervisor.generation,
      unavailable: () => this.#unavailable(),
    });
    this.#catalog = new RemoteCatalog({
      catalog,
      namespace: this.#namespace,
      link: this,
      now: () => clock.now(),
      warn: (message) => logger.warn(`${this.namespace}: ${message}`),
    });
    this.#supervisor = new Supervisor<RemoteGeneration>({
      ...options,
      clock,
      random: host.random,
      open: (signal, waits) =>
        openGeneration(connector, signal, { ...this.#generationHost(), waits }).catch((error) => {
          throw relabelled(error, this.namespace);
        }),
      timedOut: () => new Error(`no answer from ${connector.label} within ${options.connectTimeoutMs} ms`),
      onChange: (change) => this.#changed(change),
      onError: (error) => this.#reports.background(error),
    });
    this.#parts = {
      supervisor: this.#supervisor,
      namespace: this.#namespace,
      catalog: this.#catalog,
      reports: this.#reports,
      requests: this.#requests,
    };
  }

  protected get parts(): ConnectionParts {
    return this.#parts;
  }

  get timeoutMs(): number | undefined {
    return this.#options.timeoutMs;
  }

  start(): void {
    if (this.state !== "idle") return;
    this.#presence.begin();
    this.#supervisor.start();
  }

  /** Resolves when the first attempt has succeeded or failed, or took longer than `startTimeoutMs`. */
  async settled(): Promise<void> {
    await this.#presence.settling;
  }

  async ready({ signal }: ReadOptions = {}): Promise<void> {
    await this.#presence.ready(signal);
  }

  reconnect(): void {
    if (this.state === "stopped") throw stopped(this.namespace, this.attempts, undefined);
    if (this.state === "idle") this.start();
    else this.#supervisor.reconnect();
  }

  async close(): Promise<void> {
    await this.#supervisor.stop();
  }

  use<T>(request: InFlightRequest<T>): Promise<T> {
    const { generation } = this.#supervisor;
    if (generation !== undefined) return this.#requests.make(generation, request);
    return this.#presence.wait(request.options).then((came) => this.#requests.make(came, request));
  }

  /** Says once what is not as it should be. */
  warn(message: string): void {
    this.#reports.warn(message);
  }

  #generationHost(): Omit<GenerationHost, "waits"> {
    const { clock, logger } = this.#host;
    const { pollMs, connectTimeoutMs, healthCheckMs, elicitation, sampling } = this.#options;
    const questions = this.#questions;
    return {
      clock,
      pollMs,
      listTimeoutMs: connectTimeoutMs,
      healthCheckMs,
      started: (process) => this.begun(process),
      pinged: (latencyMs) => this.#requests.answered(latencyMs),
      listed: (lists) => this.#catalog.apply(lists),
      updated: (uri) => this.#updated(uri),
      missed: () => this.#subscriptions.missed(),
      log: (entry) => logRemote(logger, this.namespace, entry, this.#requests.listeners),
      elicit: elicitation ? (request, options) => questions.elicit(request, options) : undefined,
      sample: sampling ? (request, options) => questions.sample(request, options) : undefined,
      onError: (error) => this.#reports.background(error),
    };
  }

  #changed({ from, to, generation, error, retryInMs }: SupervisorChange<RemoteGeneration>): void {
    if (to === "connected" && generation !== undefined) {
      this.#connected(generation);
      return;
    }
    if (from === "connected") {
      this.#presence.go();
      this.#downSince = this.#host.clock.now();
      this.#namespace.setStale(true);
    }
    if (to === "stopped") {
      this.#stopped(error);
      return;
    }
    if (error === undefined && from !== "connected") return;
    if (error !== undefined) {
      this.#presence.settle();
      this.#reports.down(error, this.attempts);
    }
    const { namespace, attempts } = this;
    const inMs = retryInMs === undefined ? undefined : Math.round(retryInMs);
    this.#host.emit({
      type: "connectorDisconnected",
      namespace,
      connection: this,
      error,
      attempts,
      retryInMs: inMs,
    });
  }

  #connected(generation: RemoteGeneration): void {
    const { session, lists } = generation;
    const { server } = session;
    this.met(session);
    if (!this.#nameFixed) {
      this.#nameFixed = true;
      this.#host.catalog.rename(this.#namespace, this.#host.nameFor(this, server));
    }
    this.#reports.up(this.label);
    this.#namespace.setStale(false);
    this.#host.emit({ type: "connectorConnected", namespace: this.namespace, connection: this, server });
    this.#catalog.apply(lists);
    this.#presence.come();
    generation.begin();
    this.#subscriptions.renew(session);
  }

  #updated(uri: string): void {
    this.#host.emit({ type: "resourceUpdated", namespace: this.namespace, uri, connection: this });
  }

  #stopped(error: Error | undefined): void {
    this.#host.catalog.unmount(this.#namespace);
    this.#presence.end(stopped(this.namespace, this.attempts, error));
    this.#host.emit({ type: "connectorRemoved", namespace: this.namespace, connection: this, error });
    this.#host.removed(this);
  }

  #failures(): readonly ListFailure[] {
    const { state } = this;
    if (state === "idle" || state === "stopped") return [];
    if (state === "connected") return this.#catalog.failures;
    return [{ namespace: this.namespace, error: this.#unavailable(), since: this.#downSince }];
  }

  #unavailable(): ToolkitError<"UNAVAILABLE"> {
    const { namespace, label, lastError: cause, nextAttemptAt } = this;
    const retryInMs =
      nextAttemptAt === undefined ? undefined : Math.max(0, Math.round(nextAttemptAt - this.#host.clock.now()));
    return unavailable({ namespace, label, cause, retryInMs });
  }
}
