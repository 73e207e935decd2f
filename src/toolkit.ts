import { Catalog } from "./catalog/catalog.ts";
import { Directory } from "./catalog/directory.ts";
import type { Connection } from "./core/connection.ts";
import type { Connector } from "./core/connector.ts";
import type { Delegate } from "./core/delegate.ts";
import { messageOf, ToolkitError } from "./core/error.ts";
import type { EventListener, ToolkitEvent, ToolkitEventType } from "./core/event.ts";
import type { Host } from "./core/host.ts";
import { assertNamespace, toIdentifier } from "./core/identifier.ts";
import type {
  CallArguments,
  DefaultKind,
  Entry,
  Item,
  Kind,
  ListPage,
  ListQuery,
  LookupOptions,
  Prompt,
  RenderedPrompt,
  ResultOf,
  Tool,
} from "./core/item.ts";
import { silentLogger, steadyLogger } from "./core/logger.ts";
import type { Middleware } from "./core/middleware.ts";
import type { Content } from "./core/resource.ts";
import type { CallOptions, Logger } from "./core/session.ts";
import type { Source } from "./core/source.ts";
import type { ConnectorTarget, McpServersConfig } from "./core/target.ts";
import { Dispatch } from "./execute/dispatch.ts";
import { Executor } from "./execute/executor.ts";
import { type Clock, systemClock } from "./lib/clock.ts";
import { Emitter } from "./lib/emitter.ts";
import { type EventStreamOptions, eventStream } from "./lib/event-stream.ts";
import { abortable } from "./lib/promise.ts";
import { WaitingRoom } from "./lib/waiting-room.ts";
import { mcpConnector } from "./mcp/connector.ts";
import { parseMcpServers } from "./mcp/target/mcp-servers.ts";
import { canonicalUrl } from "./mcp/target/url.ts";
import { Builtins } from "./source/builtin.ts";
import type { SupervisedConnection } from "./source/connection.ts";
import { type ConnectOptions, Connectors } from "./source/connectors.ts";
import { Delegates } from "./source/delegates.ts";
import { LocalSource } from "./source/local.ts";

/** How a toolkit is made. Everything has a default. */
export interface ToolkitOptions {
  /** Builtins to begin with, as for `add`. */
  readonly items?: readonly Item[] | undefined;
  /** Hears events, executes prompts, makes connectors. Of several the first that can answers. */
  readonly delegate?: Delegate | readonly Delegate[] | undefined;
  /** Wraps every call, the first outermost. */
  readonly use?: readonly Middleware[] | undefined;
  /** Where the library says what an operator should know. Default: nowhere. */
  readonly logger?: Logger | undefined;
  /** Refuse an unscoped name that several namespaces have. Default false: the order decides, and `ambiguousName` tells. */
  readonly strictNames?: boolean | undefined;
  /** How long a tool may show no sign of life, in milliseconds. Default 60,000. */
  readonly timeoutMs?: number | undefined;
  /** How long an attempt of a call may take in all, in milliseconds. Default 600,000. */
  readonly maxTimeoutMs?: number | undefined;
  /** How deep calls may call. Default 8. */
  readonly maxDepth?: number | undefined;
  /** How long `start` and first lookups wait for a connector, in milliseconds. Default 10,000. */
  readonly startTimeoutMs?: number | undefined;
  /** Time and chance, for tests. */
  readonly clock?: Clock | undefined;
  readonly random?: (() => number) | undefined;
}

/** How a connector is added. */
export interface AddConnectorOptions extends ConnectOptions {
  /** For an HTTP target: sent with every request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** How long `close` waits for everything to end, in milliseconds. */
const closeMs = 5_000;

/**
 * Holds every tool, prompt and resource a service's models may use, wherever they come from, and calls them.
 *
 * @example
 * ```ts
 * const toolkit = new Toolkit({ items: [greet] });
 * toolkit.addConnector("https://example.com/mcp", { namespace: "example" });
 * await toolkit.start();
 * const result = await toolkit.call("example.search", { query: "weave" });
 * console.log(await result.text());
 * await toolkit.close();
 * ```
 */
export class Toolkit implements Host, AsyncDisposable {
  readonly #logger: Logger;
  readonly #clock: Clock;
  readonly #startTimeoutMs: number;
  readonly #events: Emitter<ToolkitEvent>;
  readonly #catalog: Catalog;
  readonly #builtins: Builtins;
  readonly #connectors: Connectors;
  readonly #delegates: Delegates;
  readonly #executor: Executor;
  readonly #toolbox: Dispatch;
  readonly #sources = new Set<LocalSource>();
  readonly #ended = Promise.withResolvers<void>();
  #closing: Promise<void> | undefined;

  /** @throws ToolkitError as `add` does for `items`, `INVALID_CONFIG` for an option out of its range */
  constructor(options: ToolkitOptions = {}) {
    const { timeoutMs = 60_000, maxTimeoutMs = 600_000, maxDepth = 8, startTimeoutMs = 10_000 } = options;
    assertPositive({ timeoutMs, maxTimeoutMs, startTimeoutMs });
    assertCount({ maxDepth });
    this.#logger = options.logger === undefined ? silentLogger : steadyLogger(options.logger);
    this.#clock = options.clock ?? systemClock;
    this.#startTimeoutMs = startTimeoutMs;
    this.#delegates = new Delegates(options.delegate);
    this.#events = new Emitter((error, { type }) =>
      this.#logger.error(`A listener of ${type} failed: ${messageOf(error)}`, { error }),
    );
    for (const delegate of this.#delegates.listeners) this.#events.on("*", (event) => delegate.onEvent?.(event));
    const emit = (event: ToolkitEvent) => this.#events.emit(event);
    this.#catalog = new Catalog({ strictNames: options.strictNames ?? false, emit });
    this.#builtins = new Builtins(this.#catalog, emit);
    const shared = { catalog: this.#catalog, clock: this.#clock, logger: this.#logger, emit };
    this.#connectors = new Connectors({ ...shared, random: options.random ?? Math.random, startTimeoutMs, timeoutMs });
    const directory = new Directory(this.#catalog, () => this.#assertOpen());
    this.#executor = new Executor({
      maxDepth,
      timeoutMs,
      maxTimeoutMs,
      use: options.use ?? [],
      room: new WaitingRoom(this.#clock),
      logger: this.#logger,
      events: this.#events,
      runPrompt: (entry, input, context) => this.#delegates.runPrompt(entry, input, context),
      onBadSchema: (entry, message) => this.#badSchema(entry.namespace, message),
      toolboxFor: (parent) => this.#toolbox.within(parent),
    });
    this.#toolbox = new Dispatch(directory, this.#executor);
    if (options.items !== undefined) this.add(...options.items);
  }

  /** Every connector, with its state, in the order in which they were added. */
  get connections(): readonly Connection[] {
    return this.#connectors.connections;
  }

  /**
   * Adds builtins: all or none.
   *
   * @throws ToolkitError `INVALID_NAME`, `RESERVED_NAME`, `CONFLICT` or `INVALID_SCHEMA`
   */
  add(...items: readonly Item[]): void {
    this.#assertOpen();
    this.#builtins.add(items);
  }

  /**
   * Removes a builtin: a tool of that name, else a prompt, else the resource or template of that URI.
   *
   * @throws ToolkitError `NOT_FOUND`
   */
  remove(key: string): void {
    this.#assertOpen();
    this.#builtins.remove(key);
  }

  /**
   * Adds a connector. It connects at `start`, or at once after it; a server that is down is tried again for ever.
   *
   * @param target - an http(s) URL; `{ command, args }` for a child process; `{ url, headers }`; or a Connector
   * @throws ToolkitError `INVALID_TARGET`; `CONFLICT` when it is connected already or the namespace is taken; `INVALID_NAME`
   */
  addConnector(target: ConnectorTarget | Connector, options: AddConnectorOptions = {}): Connection {
    this.#assertOpen();
    return this.#connectors.add(this.#connectorOf(target, options), options);
  }

  /**
   * Adds the servers of a configuration in the form MCP clients share, each under its name; all or none.
   *
   * @throws ToolkitError as `addConnector` does
   */
  addConnectors(config: McpServersConfig, options: Omit<AddConnectorOptions, "namespace"> = {}): readonly Connection[] {
    this.#assertOpen();
    const planned = parseMcpServers(config).map(([name, target]) => {
      const namespace = toIdentifier(name, "server");
      return { connector: this.#connectorOf(target, options), namespace };
    });
    const added: SupervisedConnection[] = [];
    try {
      for (const { connector, namespace } of planned)
        added.push(this.#connectors.add(connector, { ...options, namespace }));
    } catch (error) {
      for (const connection of added) this.#connectors.remove(connection).catch((failure) => this.#background(failure));
      throw error;
    }
    return added;
  }

  /**
   * Removes a connector and ends all it started.
   *
   * @param target - its namespace, its URL, or the connection itself
   * @throws ToolkitError `NOT_FOUND`; `CONFLICT` for a URL that two connectors share
   */
  async removeConnector(target: string | URL | Connection): Promise<void> {
    await this.#connectors.remove(this.#connectionOf(target));
  }

  /**
   * Mounts a source in a namespace of its own; disposing of what is returned takes it away.
   *
   * @throws ToolkitError `INVALID_NAME`, `RESERVED_NAME` or `CONFLICT`
   */
  addSource(namespace: string, source: Source): Disposable {
    this.#assertOpen();
    assertNamespace(namespace);
    const emit = (event: ToolkitEvent) => this.#events.emit(event);
    const mounted = new LocalSource(namespace, source, {
      catalog: this.#catalog,
      clock: this.#clock,
      logger: this.#logger,
      startTimeoutMs: this.#startTimeoutMs,
      emit,
    });
    this.#sources.add(mounted);
    return {
      [Symbol.dispose]: () => {
        this.#sources.delete(mounted);
        mounted.close();
      },
    };
  }

  /**
   * Connects every connector that is not lazy and reads every source. Resolves when each has succeeded or failed once, or after
   * `startTimeoutMs`: a server that is down makes nothing fail.
   */
  async start(): Promise<void> {
    this.#assertOpen();
    await Promise.all([this.#connectors.start(), ...[...this.#sources].map((source) => source.settled())]);
  }

  /** Starts, waits until the signal aborts or `close` is called, and closes. */
  async run({ signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    // What waits for a server that is down keeps no process alive, and a service is to stay.
    const stays = this.#clock.setTimer(() => undefined, Number.POSITIVE_INFINITY);
    stays.keepAlive(true);
    try {
      await abortable(this.start(), signal);
      await abortable(this.#ended.promise, signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
    } finally {
      stays.cancel();
      await this.close();
    }
  }

  /**
   * Ends everything: calls in flight with `CLOSED`, connections with their processes. Closing again gives the same promise.
   *
   * @throws ToolkitError `TIMEOUT` when something did not end within 5 s, naming it
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  lookup<K extends Kind = DefaultKind>(key: string, options?: LookupOptions<K>): Promise<Entry<K>> {
    return this.#toolbox.lookup(key, options);
  }

  list<K extends Kind = DefaultKind>(query?: ListQuery<K>): Promise<ListPage<K>> {
    return this.#toolbox.list(query);
  }

  call<In, Parsed, Out>(tool: Tool<In, Parsed, Out>, ...args: CallArguments<In>): Promise<Content<ResultOf<Out>>>;
  call(target: string | Prompt | Entry<"tool" | "prompt">, input?: unknown, options?: CallOptions): Promise<Content>;
  call(
    target: string | Tool | Prompt | Entry<"tool" | "prompt">,
    input?: unknown,
    options?: CallOptions,
  ): Promise<Content> {
    return this.#toolbox.call(target, input, options);
  }

  read(target: string | Entry<"resource">, options?: CallOptions): Promise<Content> {
    return this.#toolbox.read(target, options);
  }

  render(target: string | Prompt | Entry<"prompt">, input?: unknown, options?: CallOptions): Promise<RenderedPrompt> {
    return this.#toolbox.render(target, input, options);
  }

  /** Listens to events of a type, or to all with `*`, until the returned function is called. */
  on<T extends ToolkitEventType | "*">(type: T, listener: EventListener<T>): () => void {
    return this.#events.on(type, listener as (event: ToolkitEvent) => void);
  }

  /** All events from now on, as they happen; a reader that is too slow loses the oldest, and is told with `eventsLost`. */
  events(options: EventStreamOptions = {}): AsyncIterableIterator<ToolkitEvent> {
    return eventStream<ToolkitEvent>(
      { subscribe: (listener) => this.#events.on("*", listener), lost: (count) => ({ type: "eventsLost", count }) },
      options,
    );
  }

  #connectorOf(target: ConnectorTarget | Connector, { headers }: AddConnectorOptions): Connector {
    if (isConnector(target)) {
      if (headers === undefined) return target;
      throw invalidTarget(
        "The option headers is for a URL; give a Connector its headers where it is made.",
        target.label,
      );
    }
    if (target === "connector:user") {
      const message = '"connector:user" is reserved for the user namespace, which a store fills.';
      throw new ToolkitError("RESERVED_NAME", message, { name: target });
    }
    if (typeof target === "object" && ("mcpServers" in target || "mcp_servers" in target)) {
      throw invalidTarget("This configuration names several servers: give it to addConnectors.", "mcpServers");
    }
    return this.#delegates.createConnector(target) ?? mcpConnector(target, { headers });
  }

  #connectionOf(target: string | URL | Connection): SupervisedConnection {
    const { connections } = this.#connectors;
    const found = connections.filter((connection) => connection === target || connection.namespace === target);
    const key = found.length > 0 ? undefined : urlKey(target);
    if (key !== undefined) found.push(...connections.filter((connection) => connection.connector.key === key));
    const [connection, other] = found;
    if (other !== undefined) {
      const owners = found.map(({ namespace }) => namespace);
      const message = `${key} belongs to several connectors: name one of ${owners.join(", ")}.`;
      throw new ToolkitError("CONFLICT", message, { key: String(key), owners });
    }
    if (connection !== undefined) return connection;
    const name = key ?? (typeof target === "string" ? target : (target as Connection).namespace);
    const names = connections.map(({ namespace }) => namespace);
    const known = names.length === 0 ? "There are no connectors" : `There are ${names.join(", ")}`;
    throw new ToolkitError("NOT_FOUND", `There is no connector "${name}". ${known}.`, {
      key: name,
      suggestions: names,
    });
  }

  async #close(): Promise<void> {
    this.#executor.close();
    for (const source of this.#sources) source.close();
    this.#sources.clear();
    const all = this.#connectors.close();
    const limit = Promise.withResolvers<"late">();
    const timer = this.#clock.setTimer(() => limit.resolve("late"), closeMs);
    timer.keepAlive(true);
    const outcome = await Promise.race([all, limit.promise]).finally(() => {
      timer.cancel();
      this.#events.flush();
      this.#ended.resolve();
    });
    if (outcome !== "late") return;
    all.catch((error) => this.#background(error));
    const names = this.#connectors.unended.join(", ");
    const message = `Not everything ended within ${closeMs} ms: ${names}.`;
    throw new ToolkitError("TIMEOUT", message, { limit: "total", limitMs: closeMs, elapsedMs: closeMs });
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ToolkitError("CLOSED", "The toolkit is closed.", { what: "toolkit" });
  }

  #badSchema(namespace: string, message: string): void {
    const connection = this.#connectors.connections.find((each) => each.namespace === namespace);
    if (connection === undefined) this.#logger.warn(message);
    else connection.warn(message);
  }

  /** What failed where nobody waits for it. */
  #background(error: unknown): void {
    this.#logger.error(messageOf(error), { error });
  }
}

function isConnector(target: ConnectorTarget | Connector): target is Connector {
  return typeof target === "object" && target !== null && typeof (target as Connector).connect === "function";
}

/** What two connectors to one URL share; undefined for what is no URL. */
function urlKey(target: string | URL | Connection): string | undefined {
  if (target instanceof URL) return canonicalUrl(target);
  return typeof target === "string" && URL.canParse(target) ? canonicalUrl(new URL(target)) : undefined;
}

function invalidTarget(message: string, target: string): ToolkitError<"INVALID_TARGET"> {
  return new ToolkitError("INVALID_TARGET", message, { target });
}

function assertPositive(options: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (!(typeof value === "number" && value > 0)) throw invalidOption(name, "a number above 0", value);
  }
}

function assertCount(options: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(options)) {
    if (!(Number.isInteger(value) && value >= 0)) throw invalidOption(name, "a whole number from 0", value);
  }
}

function invalidOption(path: string, wanted: string, value: unknown): ToolkitError<"INVALID_CONFIG"> {
  const message = `The option ${path} must be ${wanted}, and is ${messageOf(value)}.`;
  return new ToolkitError("INVALID_CONFIG", message, { path });
}
