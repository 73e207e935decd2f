import type { Catalog } from "../catalog/catalog.ts";
import type { Namespace } from "../catalog/namespace.ts";
import type { Connection, ConnectionState, ServerInfo } from "../core/connection.ts";
import type { Connector, ConnectorSession } from "../core/connector.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ToolkitEvent } from "../core/event.ts";
import { type Entry, type Kind, kinds, type ListFailure } from "../core/item.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Logger, Session } from "../core/session.ts";
import type { SourceChange } from "../core/source.ts";
import { CallState } from "../execute/state.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { Coalescer } from "../lib/coalesce.ts";
import { abortable } from "../lib/promise.ts";
import { RemoteCatalogue, type RemoteLists, readLists } from "./remote-catalogue.ts";
import type { RemoteLink } from "./remote-items.ts";
import { logRemote } from "./remote-log.ts";
import { type Generation, Supervisor, type SupervisorChange } from "./supervisor.ts";

/** How a connection is supervised. */
export interface SupervisionOptions {
  /** The inactivity limit of its tools, in milliseconds. Default: the toolkit's. */
  readonly timeoutMs?: number | undefined;
  /** How often lists are read again that the server does not announce, in milliseconds. */
  readonly pollMs: number;
  /** How long one attempt to connect may take, in milliseconds. */
  readonly connectTimeoutMs: number;
  /** How long lookups wait for the first attempt, in milliseconds. */
  readonly startTimeoutMs: number;
  /** How long a call waits for the connection where it has no limit of its own, in milliseconds. */
  readonly waitMs: number;
  readonly retryMs: number;
  readonly maxRetryMs: number;
  readonly maxAttempts?: number | undefined;
}

/** What a connection is made with. */
export interface ConnectionHost {
  readonly catalog: Catalog;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  emit(event: ToolkitEvent): void;
  /** The namespace for a server that has said its name, where none was given. */
  nameFor(connection: SupervisedConnection, server: ServerInfo): string;
  /** It has ended for good. */
  removed(connection: SupervisedConnection): void;
}

/** One generation: a session and what it listed when it connected. */
interface ListedSession extends Generation {
  readonly session: ConnectorSession;
  readonly lists: RemoteLists;
}

const burstMs = 20;

/** A connector under supervision: its namespace holds what the server has, and its items work whichever generation there is. */
export class SupervisedConnection implements Connection, RemoteLink {
  readonly connector: Connector;
  readonly #host: ConnectionHost;
  readonly #options: SupervisionOptions;
  readonly #supervisor: Supervisor<ListedSession>;
  readonly #catalogue: RemoteCatalogue;
  readonly #relist: Coalescer<Kind>;
  readonly #namespace: Namespace;
  readonly #warnings = new Set<string>();
  readonly #nameGiven: boolean;
  #nameFixed: boolean;
  #server: ServerInfo | undefined;
  #transport: string | undefined;
  #downSince: number;
  #ready = deferred();
  #settled = deferred();
  #isSettled = false;
  #poll: Timer | undefined;
  #patience: Timer | undefined;
  #lastStderr: (() => string) | undefined;
  #inFlight = 0;
  /** The sessions whose calls are in flight and that want to hear logs. */
  readonly #listeners: Session[] = [];
  #latencyMs: number | undefined;

  constructor(
    connector: Connector,
    name: { readonly namespace: string; readonly fixed: boolean },
    options: SupervisionOptions,
    host: ConnectionHost,
  ) {
    this.connector = connector;
    this.#host = host;
    this.#options = options;
    this.#nameGiven = name.fixed;
    this.#nameFixed = name.fixed;
    this.#downSince = host.clock.now();
    this.#namespace = host.catalog.mount(name.namespace, {
      connection: this,
      settling: (start) => this.#settling(start),
      failures: () => this.#failures(),
    });
    this.#catalogue = new RemoteCatalogue(host.catalog, this.#namespace, this, (odd) =>
      this.warn(`"${odd}" is no name as MCP wants it; it is kept as it is.`),
    );
    this.#relist = new Coalescer((changed) => this.#readAgain(changed), { delayMs: burstMs, clock: host.clock });
    this.#supervisor = new Supervisor<ListedSession>({
      ...options,
      clock: host.clock,
      random: host.random,
      open: (signal) => this.#open(signal),
      timedOut: () => this.#unavailable(`no answer within ${options.connectTimeoutMs} ms`),
      onChange: (change) => this.#changed(change),
    });
  }

  get namespace(): string {
    return this.#namespace.name;
  }

  /** Whether the namespace was given, rather than learnt from the server. */
  get nameGiven(): boolean {
    return this.#nameGiven;
  }

  get label(): string {
    return this.connector.label;
  }

  get timeoutMs(): number | undefined {
    return this.#options.timeoutMs;
  }

  get transport(): string | undefined {
    return this.#transport;
  }

  get state(): ConnectionState {
    return this.#supervisor.state;
  }

  get since(): number {
    return this.#supervisor.since;
  }

  get server(): ServerInfo | undefined {
    return this.#server;
  }

  get protocolVersion(): string | undefined {
    return this.#server?.protocolVersion;
  }

  get counts(): Readonly<Record<Kind, number>> {
    const count = (kind: Kind) => this.#namespace.count(kind);
    return { tool: count("tool"), prompt: count("prompt"), resource: count("resource"), template: count("template") };
  }

  get lastError(): Error | undefined {
    return this.#supervisor.lastError;
  }

  get attempts(): number {
    return this.#supervisor.attempts;
  }

  get nextAttemptAt(): number | undefined {
    return this.#supervisor.nextAttemptAt;
  }

  get latencyMs(): number | undefined {
    return this.#latencyMs;
  }

  get callsInFlight(): number {
    return this.#inFlight;
  }

  get processId(): number | undefined {
    return this.#supervisor.generation?.session.processId;
  }

  get stderr(): string | undefined {
    return this.#lastStderr?.();
  }

  get warnings(): readonly string[] {
    return [...this.#warnings, ...this.#catalogue.warnings];
  }

  list<K extends Kind>(kind: K): readonly Entry<K>[] {
    return this.#namespace.entries(kind);
  }

  start(): void {
    if (this.state !== "idle") return;
    const { clock } = this.#host;
    this.#patience = clock.setTimer(() => this.#settle(), this.#options.startTimeoutMs);
    this.#supervisor.start();
  }

  /** Resolves when the first attempt has succeeded or failed, or took longer than `startTimeoutMs`. */
  async settled(): Promise<void> {
    await this.#settled.promise;
  }

  async ready({ signal }: ReadOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    if (this.state === "connected") return;
    this.start();
    await abortable(this.#ready.promise, signal);
  }

  reconnect(): void {
    if (this.state === "idle") this.start();
    else this.#supervisor.reconnect();
  }

  async close(): Promise<void> {
    await this.#supervisor.stop();
  }

  async use<T>(options: ReadOptions, use: (session: ConnectorSession) => Promise<T>): Promise<T> {
    const generation = this.#supervisor.generation ?? (await this.#wait(options));
    const { clock } = this.#host;
    const startedAt = clock.now();
    const listener = options instanceof CallState ? options.listeningSession : undefined;
    if (listener !== undefined) this.#listeners.push(listener);
    this.#inFlight += 1;
    try {
      const result = await use(generation.session);
      this.#latencyMs = clock.now() - startedAt;
      return result;
    } catch (error) {
      throw this.#named(error);
    } finally {
      this.#inFlight -= 1;
      if (listener !== undefined) this.#listeners.splice(this.#listeners.indexOf(listener), 1);
    }
  }

  /** Says once what is not as it should be. */
  warn(message: string): void {
    if (this.#warnings.has(message)) return;
    this.#warnings.add(message);
    this.#host.logger.warn(`${this.namespace}: ${message}`);
  }

  async #open(signal: AbortSignal): Promise<ListedSession> {
    const early = new Set<Kind>();
    let session: ConnectorSession | undefined;
    const isCurrent = () => session !== undefined && this.#supervisor.generation?.session === session;
    session = await this.connector.connect({
      signal,
      host: {
        changed: (change) => (isCurrent() ? this.#told(change) : early.add(change.kind)),
        log: (entry) => logRemote(this.#host.logger, this.namespace, entry, new Set(this.#listeners)),
      },
    });
    const current = session;
    this.#lastStderr = current.stderr;
    const ended = current.closed.then((error) => {
      throw error ?? new Error("The connection was closed before it was listed.");
    });
    try {
      const lists = await abortable(Promise.race([readLists(current, kinds, this.label), ended]), signal);
      // What was announced while the lists were read is read once more.
      if (early.size > 0) for (const kind of early) this.#relist.request(kind);
      return {
        session: current,
        lists,
        closed: current.closed,
        [Symbol.asyncDispose]: () => Promise.resolve(current[Symbol.asyncDispose]()),
      };
    } catch (error) {
      await current[Symbol.asyncDispose]();
      throw error;
    } finally {
      ended.catch(() => undefined);
    }
  }

  #changed(change: SupervisorChange<ListedSession>): void {
    const { to, from, generation, error } = change;
    this.#poll?.cancel();
    if (to === "connected" && generation !== undefined) {
      this.#connected(generation);
      return;
    }
    if (from === "connected") {
      this.#ready = deferred();
      this.#downSince = this.#host.clock.now();
      this.#namespace.setStale(true);
    }
    if (to === "stopped") {
      this.#stopped(error);
      return;
    }
    if (error === undefined) return;
    this.#settle();
    this.#host.logger.warn(`${this.namespace} is not connected: ${error.message}`, { error, attempts: this.attempts });
    this.#host.emit({
      type: "connectorDisconnected",
      namespace: this.namespace,
      connection: this,
      error,
      attempts: this.attempts,
      retryInMs: change.retryInMs,
    });
  }

  #connected({ session, lists }: ListedSession): void {
    this.#server = session.server;
    this.#transport = session.transport;
    if (!this.#nameFixed) {
      this.#nameFixed = true;
      this.#host.catalog.rename(this.#namespace, this.#host.nameFor(this, session.server));
    }
    this.#namespace.setStale(false);
    this.#host.emit({
      type: "connectorConnected",
      namespace: this.namespace,
      connection: this,
      server: session.server,
    });
    this.#catalogue.apply(lists);
    this.#settle();
    this.#ready.resolve();
    this.#schedulePoll(session);
  }

  #stopped(error: Error | undefined): void {
    this.#relist.stop();
    this.#host.catalog.unmount(this.#namespace);
    this.#settle();
    const reason =
      error === undefined ? "it was removed" : `it was given up after ${this.attempts} attempts: ${error.message}`;
    this.#ready.reject(
      new ToolkitError("CLOSED", `${this.namespace} is closed: ${reason}.`, { what: this.namespace }, { cause: error }),
    );
    this.#host.emit({ type: "connectorRemoved", namespace: this.namespace, connection: this, error });
    this.#host.removed(this);
  }

  /** What the current generation says. */
  #told({ kind, uri }: SourceChange): void {
    if (uri === undefined) this.#relist.request(kind);
    else this.#host.emit({ type: "resourceUpdated", namespace: this.namespace, uri, connection: this });
  }

  async #readAgain(changed: ReadonlySet<Kind>): Promise<void> {
    const generation = this.#supervisor.generation;
    if (generation === undefined) return;
    const lists = await readLists(generation.session, changed, this.label);
    if (this.#supervisor.generation === generation) this.#catalogue.apply(lists);
  }

  /** Reads again, from time to time, what the server does not announce. */
  #schedulePoll(session: ConnectorSession): void {
    const silent = kinds.filter((kind) => session.list[kind] !== undefined && !session.announces.has(kind));
    if (silent.length === 0 || this.#options.pollMs === Number.POSITIVE_INFINITY) return;
    this.#poll = this.#host.clock.setTimer(() => {
      if (this.#supervisor.generation?.session !== session) return;
      for (const kind of silent) this.#relist.request(kind);
      this.#schedulePoll(session);
    }, this.#options.pollMs);
  }

  async #wait(options: ReadOptions): Promise<ListedSession> {
    const { clock } = this.#host;
    const patience = new AbortController();
    const timer = clock.setTimer(() => patience.abort(this.#unavailable()), this.#options.waitMs);
    timer.keepAlive(true);
    if (options instanceof CallState) options.waitingFor = () => this.#unavailable();
    try {
      await abortable(this.ready(options), patience.signal);
    } finally {
      timer.cancel();
      if (options instanceof CallState) options.waitingFor = undefined;
    }
    return this.#supervisor.generation ?? this.#wait(options);
  }

  #settling(start: boolean): Promise<void> | undefined {
    if (this.#isSettled) return undefined;
    if (start) this.start();
    return this.#settled.promise;
  }

  #settle(): void {
    this.#patience?.cancel();
    this.#isSettled = true;
    this.#settled.resolve();
  }

  #failures(): readonly ListFailure[] {
    const { state } = this;
    if (state === "idle" || state === "stopped") return [];
    const since = this.#downSince;
    const errors = state === "connected" ? this.#catalogue.problems : [this.#unavailable()];
    return errors.map((error) => ({ namespace: this.namespace, error, since }));
  }

  #unavailable(
    reason = this.lastError === undefined ? undefined : messageOf(this.lastError),
  ): ToolkitError<"UNAVAILABLE"> {
    const next = this.nextAttemptAt;
    const retryInMs = next === undefined ? undefined : Math.max(0, Math.round(next - this.#host.clock.now()));
    const what =
      reason === undefined
        ? `\`${this.namespace}\` is still connecting to ${this.label}`
        : `\`${this.namespace}\` is not connected: ${reason}`;
    const when = retryInMs === undefined ? "" : `, next attempt in ${Math.ceil(retryInMs / 1000)} s`;
    return new ToolkitError(
      "UNAVAILABLE",
      `${what.replace(/\.$/, "")}${when}.`,
      { namespace: this.namespace, retryInMs },
      { cause: this.lastError, phase: "connect" },
    );
  }

  /** The error of a session, which knows no namespace, as that of this connection. */
  #named(error: unknown): unknown {
    if (!ToolkitError.is(error) || (error.code !== "UNAVAILABLE" && error.code !== "OUTCOME_UNKNOWN")) return error;
    const details = { ...error.details, namespace: this.namespace } as never;
    return new ToolkitError(error.code, `${this.namespace}: ${error.message}`, details, {
      cause: error.cause ?? error,
    });
  }
}

function deferred() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Nobody need be waiting.
  promise.catch(() => undefined);
  return { promise, resolve, reject };
}
