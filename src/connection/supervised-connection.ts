import type { Namespace } from "../catalog/namespace.ts";
import type { Connection, ServerInfo } from "../core/connection.ts";
import type { Connector } from "../core/connector.ts";
import { ToolkitError } from "../core/error.ts";
import { kinds } from "../core/item.ts";
import { assertOptionNames, signalName } from "../core/options.ts";
import type { ContractChange } from "../core/pin.ts";
import type { ReadOptions } from "../core/resource.ts";
import { keepProcessAlive } from "../lib/clock.ts";
import { abortable } from "../lib/promise.ts";
import { withoutInvisible } from "../lib/visible-text.ts";
import type { PinnedContract } from "../pins/pinned-contract.ts";
import type { SupervisionOptions } from "./connect-options.ts";
import { inNamespace, stopped } from "./connection-error.ts";
import type { ConnectionHost, ConnectionName, ConnectionOwner } from "./connection-host.ts";
import { ConnectionLog } from "./connection-log.ts";
import { ConnectionRequests } from "./connection-requests.ts";
import { type ConnectionParts, ConnectionView } from "./connection-view.ts";
import { FirstConnection } from "./first-connection.ts";
import { type GenerationHost, openGeneration, type RemoteGeneration } from "./generation.ts";
import { HedgedOpener } from "./hedge.ts";
import { ListedKinds } from "./listed-kinds.ts";
import { RemoteCatalog } from "./remote-catalog.ts";
import type { RemoteLink } from "./remote-items.ts";
import { ServerRequests } from "./server-requests.ts";
import { Subscriptions } from "./subscriptions.ts";
import { Supervisor, type SupervisorChange } from "./supervisor.ts";

/** A connector under supervision: its namespace holds the items of the server, which work in whichever session is the current one. */
export class SupervisedConnection extends ConnectionView implements Connection {
  readonly hasGivenName: boolean;
  readonly trust: "standard" | "untrusted";
  protected readonly parts: ConnectionParts & GenerationHost;
  readonly #host: ConnectionHost;
  readonly #owner: ConnectionOwner;
  readonly #first: FirstConnection;
  readonly #contract: PinnedContract | undefined;
  #hasFinalName: boolean;

  constructor(
    connector: Connector,
    name: ConnectionName,
    options: SupervisionOptions,
    host: ConnectionHost,
    owner: ConnectionOwner,
  ) {
    super(connector, host.clock);
    this.#host = host;
    this.#owner = owner;
    this.hasGivenName = name.isGiven;
    this.trust = options.trust;
    this.#hasFinalName = name.isGiven;
    this.#first = new FirstConnection({ ...options, clock: host.clock, report: (ms) => this.#connecting(ms) });
    const namespace = this.#mount(name.namespace);
    this.#contract = options.pins && this.#pin(options.pins, name.namespace);
    this.parts = this.#makeParts(namespace, options);
    this.showInTables();
  }

  start(): void {
    if (this.state !== "idle") return;
    this.#first.start();
    this.parts.supervisor.start();
  }

  /** Undefined once the first attempt has succeeded or failed, or took longer than `startTimeoutMs`; else resolves then. */
  get settling(): Promise<void> | undefined {
    return this.#first.pendingForLookups;
  }

  /** As `settling`, of all that it lists. */
  get settlingWhole(): Promise<void> | undefined {
    return this.settling?.then(() => this.settlingWhole) ?? this.parts.listed.pendingForLookups();
  }

  async ready(options: ReadOptions = {}): Promise<void> {
    assertOptionNames(options, signalName, "of ready");
    options.signal?.throwIfAborted();
    this.start();
    const isReady = () => this.session !== undefined && this.parts.listed.whole === undefined;
    if (isReady()) return;
    // The timers of the supervisor do not keep the process alive.
    const release = keepProcessAlive(this.#host.clock);
    try {
      do {
        await this.parts.requests.connected(options.signal);
        await abortable(Promise.resolve(this.parts.listed.whole), options.signal);
      } while (!isReady());
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

  #mount(name: string): Namespace {
    return this.#host.catalog.mount(name, {
      connection: this,
      settling: (start, wanted) => {
        if (start) this.start();
        return this.settling ?? this.parts.listed.pendingForLookups(wanted);
      },
      coming: (wanted) => {
        if (this.state === "idle") return this.settling;
        return this.#first.pendingForCalls ?? this.parts.listed.pendingForCalls(wanted);
      },
      failures: (of) => this.failures(of),
      hasListed: (of) => this.parts.listed.missing(of).length === 0,
      isQuiet: () => this.state === "connected" && this.failures(kinds).length === 0,
      subscribe: (uri, given) => this.parts.subscriptions.add(uri, given),
      refusalOf: (uri, { name, item }) =>
        this.parts.options.allow.refusalOf(uri, { kind: "template", key: item.uriTemplate, name }),
    });
  }

  #makeParts(namespace: Namespace, options: SupervisionOptions): ConnectionParts & GenerationHost {
    const { connector } = this;
    const { catalog, clock, logger, interactions, random } = this.#host;
    const log = new ConnectionLog(logger, this);
    const requests = new ConnectionRequests(this, { ...options, clock });
    const connection = this;
    const contract = this.#contract;
    const listed = new ListedKinds({ ...options, clock });
    const link: RemoteLink = {
      label: connector.label,
      timeoutMs: options.timeoutMs,
      requests,
      get untrusted() {
        return options.trust === "untrusted" ? connection.namespace : undefined;
      },
      assertAccepted: (kind, key) => contract?.assertAccepted(kind, key),
    };
    const host: GenerationHost = {
      clock,
      options,
      log,
      requests,
      memory: this.#host.memory,
      listed,
      starting: () => this.#owner.starting,
      // Pins compare a server as a whole, and rules with bare names depend on everything that may have these.
      needsAllLists: () => contract !== undefined || this.#host.hasBareRules(),
      catalog: new RemoteCatalog({ catalog, namespace, link, clock, log, allow: options.allow, contract, listed }),
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
    const opener = new HedgedOpener<RemoteGeneration>({
      clock,
      whenSilent: connector.whenSilent,
      limitMs: options.connectTimeoutMs,
      onError: (error) => log.failed(error),
    });
    const supervisor = new Supervisor<RemoteGeneration>({
      ...options,
      clock,
      random,
      open: async (signal, pause) => {
        try {
          const { opened, others } = await opener.open(signal, (own, signs) =>
            openGeneration(connector, host, { signal: own, pause, signs }),
          );
          opened.others = others;
          return opened;
        } catch (error) {
          throw inNamespace(error, this.namespace, "");
        }
      },
      isLasting: (error) => ToolkitError.is(error, "UNSUPPORTED_PROTOCOL"),
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
      this.parts.listed.end();
      this.downSince = Math.floor(this.#host.clock.now());
      this.parts.namespace.setStale(true);
    }
    if (to === "stopped") {
      this.#stopped(error);
      return;
    }
    if (to === "connecting") this.parts.requests.wake();
    else if (retryInMs === undefined && error !== undefined) this.parts.requests.rest(error);
    if (error === undefined && from !== "connected") return;
    if (error !== undefined) {
      this.#first.settle();
      this.parts.log.disconnected(error, this.attempts);
    }
    this.#host.emit({
      type: "connectorDisconnected",
      namespace: this.namespace,
      connection: this,
      error,
      attempts: this.attempts,
      retryInMs: retryInMs === undefined ? undefined : Math.round(retryInMs),
    });
  }

  #connected(generation: RemoteGeneration): void {
    const { session, lists } = generation;
    const { namespace, log, catalog, requests, subscriptions } = this.parts;
    catalog.see(lists);
    const server = this.#shownServer(session.server);
    this.parts.listed.begin(generation.unread, (kind) => namespace.count(kind) > 0);
    requests.resume(session);
    this.latestSession = session;
    this.latestServer = server;
    if (!this.#hasFinalName) {
      this.#hasFinalName = true;
      this.#host.catalog.rename(namespace, this.#owner.nameFor(this, server));
    }
    log.connected(this.label);
    namespace.setStale(false, lists.keys());
    this.#host.emit({ type: "connectorConnected", namespace: namespace.name, connection: this, server });
    catalog.apply(lists);
    this.#first.settle();
    generation.begin();
    subscriptions.renew(session);
  }

  /** The server in its own words, as models may read them. */
  #shownServer({ capabilities, ...described }: ServerInfo): ServerInfo {
    const server = { ...(withoutInvisible(described) as typeof described), capabilities };
    return this.#contract === undefined ? server : { ...server, instructions: this.#contract.instructions };
  }

  #pin(onChange: "report" | "quarantine", namespace: string): PinnedContract {
    return this.#host.pins.add({
      namespace,
      onChange,
      warn: (message) => this.warn(message),
      report: (changes, omitted) => this.#contractChanged(changes, omitted, onChange === "quarantine"),
      changed: () => {
        if (this.latestServer !== undefined) this.latestServer = this.#shownServer(this.latestServer);
        this.parts.catalog.applyAgain();
      },
    });
  }

  #contractChanged(changes: readonly ContractChange[], omitted: number, quarantined: boolean): void {
    const count = changes.length + omitted;
    const [first] = changes;
    this.parts.log.warnOnce(`Its contract changed${count > 1 ? ` in ${count} places` : ""}: ${first?.message}`);
    const { namespace } = this;
    this.#host.emit({ type: "contractChanged", namespace, connection: this, changes, omitted, quarantined });
  }

  #connecting(elapsedMs: number): void {
    const { namespace, connector, stderr } = this;
    const hint = this.parts.log.connecting({ connector, stderr, elapsedMs });
    const known = hint === undefined ? {} : { hint };
    this.#host.emit({ type: "connectorConnecting", namespace, connection: this, elapsedMs, ...known });
  }

  #updated(uri: string): void {
    this.#host.emit({ type: "resourceUpdated", namespace: this.namespace, uri, connection: this });
  }

  #stopped(error: Error | undefined): void {
    this.#host.catalog.unmount(this.parts.namespace);
    this.#first.settle();
    this.parts.requests.stop(stopped(this.namespace, this.attempts, error));
    this.#host.emit({ type: "connectorRemoved", namespace: this.namespace, connection: this, error });
    if (this.#contract !== undefined) this.#host.pins.remove(this.#contract);
    this.#owner.removed(this);
  }
}
