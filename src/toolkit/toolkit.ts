import { CallRouter } from "../call/call-router.ts";
import { PrincipalScope } from "../call/principal-scope.ts";
import { Directory } from "../catalog/directory.ts";
import { LocalSource } from "../catalog/local-source.ts";
import type { AddConnectorOptions } from "../connection/connect-options.ts";
import type { Approvals } from "../core/approval.ts";
import type { ArgumentValues } from "../core/argument-values.ts";
import type { CompletionRequest } from "../core/completion.ts";
import type { Connection } from "../core/connection.ts";
import type { Connector } from "../core/connector.ts";
import {
  assertEventOptions,
  assertListener,
  type EventListener,
  type ToolkitEvent,
  type ToolkitEventType,
} from "../core/event.ts";
import type { Host } from "../core/host.ts";
import { assertNamespace, toIdentifier } from "../core/identifier.ts";
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
} from "../core/item.ts";
import { emptyScope } from "../core/name-rules.ts";
import type { Pins } from "../core/pin.ts";
import type { Content } from "../core/resource.ts";
import type { CallOptions } from "../core/session.ts";
import type { Source, Unsubscribe } from "../core/source.ts";
import type { ConnectorTarget, McpServersConfig } from "../core/target.ts";
import type { ToolkitOptions } from "../core/toolkit-options.ts";
import type { UserNamespace } from "../core/user.ts";
import { type ExplainOptions, explain } from "../explain/explain.ts";
import type { Explanation } from "../explain/explanation.ts";
import { type InspectOptions, inspect, shownAs } from "../lib/console-text.ts";
import { type EventStreamOptions, eventStream } from "../lib/event-stream.ts";
import { parseMcpServers } from "../mcp/target/mcp-servers.ts";
import { canonicalUrl } from "../mcp/target/target-values.ts";
import { runRules } from "../toolset/run-policy.ts";
import { Toolset, type ToolsetRequest } from "../toolset/toolset.ts";
import { type Assembly, assemble } from "./assemble.ts";
import { Lifecycle } from "./lifecycle.ts";
import { View } from "./view.ts";
import { ViewFilter, type ViewSelection } from "./view-filter.ts";

/**
 * Holds every tool, prompt and resource a service's models may use, wherever they come from, and calls them.
 *
 * @example
 * ```ts
 * const toolkit = new Toolkit({ items: [greet] });
 * toolkit.addConnector("https://example.com/mcp", { namespace: "example" });
 * await toolkit.start();
 * const result = await toolkit.call("example.search", { query: "weave" }).then((content) => content.text());
 * await toolkit.close();
 * ```
 */
export class Toolkit implements Host, AsyncDisposable {
  /** The prompts and resources that people make while the service runs, in its store. */
  readonly user: UserNamespace;
  readonly #parts: Assembly;
  readonly #lifecycle: Lifecycle = new Lifecycle(() => this.#parts);

  /** @throws ToolkitError as `add` does for `items`, `INVALID_CONFIG` for an option out of its range, or one there is not */
  constructor(options: ToolkitOptions = {}) {
    this.#parts = assemble(options, this, this.#lifecycle);
    this.user = this.#parts.user;
    if (options.items !== undefined) this.add(...options.items);
  }

  /** The calls that wait for approval, or for work elsewhere. */
  get approvals(): Approvals {
    return this.#parts.approvals;
  }

  /** The contracts of connectors with the option `pins`: what changed, and its acceptance. */
  get pins(): Pins {
    return this.#parts.pins;
  }

  /** Every connector, with its state, in the order in which they were added. */
  get connections(): readonly Connection[] {
    return this.#parts.connectors.connections;
  }

  /**
   * Adds builtins: all or none.
   *
   * @throws ToolkitError `INVALID_NAME`, `RESERVED_NAME`, `CONFLICT` or `INVALID_SCHEMA`
   */
  add(...items: readonly Item[]): void {
    this.#lifecycle.assertOpen();
    this.#parts.builtins.add(items);
  }

  /**
   * Removes a builtin: a tool of that name, else a prompt, else the resource or template of that URI.
   *
   * @throws ToolkitError `NOT_FOUND`
   */
  remove(key: string): void {
    this.#lifecycle.assertOpen();
    this.#parts.builtins.remove(key);
  }

  /**
   * Adds a connector. It connects at `start`, or at once after it; a server that is down is tried again for ever.
   *
   * @param target - an http(s) URL; `{ command, args }` for a child process; `{ url, headers }`; or a Connector
   * @throws ToolkitError `INVALID_TARGET`; `CONFLICT` when it is connected already or the namespace is taken;
   *   `INVALID_NAME` or `RESERVED_NAME` for the namespace; `INVALID_CONFIG` for an option out of its range, or one there is not
   */
  addConnector(target: ConnectorTarget | Connector, options: AddConnectorOptions = {}): Connection {
    this.#lifecycle.assertOpen();
    return this.#parts.connectors.add(this.#parts.connectorFor(target, options), options);
  }

  /**
   * Adds the servers of a configuration in the form MCP clients share, each under its name; all or none.
   *
   * @throws ToolkitError as `addConnector` does
   */
  addConnectors(config: McpServersConfig, options: Omit<AddConnectorOptions, "namespace"> = {}): readonly Connection[] {
    this.#lifecycle.assertOpen();
    const planned = parseMcpServers(config).map(([name, target]) => ({
      connector: this.#parts.connectorFor(target, options),
      namespace: toIdentifier(name, "server"),
      entry: name,
    }));
    return this.#parts.connectors.addAll(planned, options);
  }

  /**
   * Removes a connector and ends all it started.
   *
   * @param target - its namespace, its URL, or the connection itself
   * @throws ToolkitError `NOT_FOUND`; `CONFLICT` for a URL that two connectors share
   */
  async removeConnector(target: string | URL | Connection): Promise<void> {
    this.#lifecycle.assertOpen();
    await this.#parts.connectors.find(target, canonicalUrl).close();
  }

  /**
   * Mounts a source in a namespace of its own; disposing of what is returned takes it away.
   *
   * @throws ToolkitError `INVALID_NAME`, `RESERVED_NAME` or `CONFLICT`
   */
  addSource(namespace: string, source: Source): Disposable {
    this.#lifecycle.assertOpen();
    assertNamespace(namespace);
    const mounted = new LocalSource(namespace, source, this.#parts.sourceHost);
    this.#lifecycle.sources.add(mounted);
    return {
      [Symbol.dispose]: () => {
        this.#lifecycle.sources.delete(mounted);
        mounted.close();
      },
    };
  }

  /**
   * Connects every connector that is not lazy and reads every source. Resolves when each has its tools or failed once, or after
   * `startTimeoutMs`: a server that is down makes nothing fail, and so does a store. What reads another kind waits for its first list.
   */
  start(): Promise<void> {
    return this.#lifecycle.start();
  }

  /**
   * Starts, waits until the signal aborts or `close` is called, and closes.
   *
   * @throws ToolkitError `INVALID_INPUT` for what is no AbortSignal, before anything is started or closed
   */
  run(options: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    return this.#lifecycle.run(options);
  }

  /**
   * Ends everything: calls in flight with `CLOSED`, connections with their processes. Closing again gives the same promise.
   *
   * @throws ToolkitError `TIMEOUT` when something did not end within 5 s, naming it
   */
  close(): Promise<void> {
    return this.#lifecycle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  lookup<K extends Kind = DefaultKind>(key: string, options?: LookupOptions<K>): Promise<Entry<K>> {
    return this.#parts.toolbox.lookup(key, options);
  }

  list<K extends Kind = DefaultKind>(query?: ListQuery<K>): Promise<ListPage<K>> {
    return this.#parts.toolbox.list(query);
  }

  call<In, Parsed, Out>(tool: Tool<In, Parsed, Out>, ...args: CallArguments<In>): Promise<Content<ResultOf<Out>>>;
  call(target: string | Prompt | Entry<"tool" | "prompt">, input?: unknown, options?: CallOptions): Promise<Content>;
  call(
    target: string | Tool | Prompt | Entry<"tool" | "prompt">,
    input?: unknown,
    options?: CallOptions,
  ): Promise<Content> {
    return this.#parts.toolbox.call(target, input, options);
  }

  read(target: string | Entry<"resource">, options?: CallOptions): Promise<Content> {
    return this.#parts.toolbox.read(target, options);
  }

  render(target: string | Prompt | Entry<"prompt">, input?: unknown, options?: CallOptions): Promise<RenderedPrompt> {
    return this.#parts.toolbox.render(target, input, options);
  }

  subscribe(target: string | Entry<"resource">, options?: CallOptions): Promise<Unsubscribe> {
    return this.#parts.toolbox.subscribe(target, options);
  }

  complete(request: CompletionRequest, options?: CallOptions): Promise<ArgumentValues> {
    return this.#parts.toolbox.complete(request, options);
  }

  /**
   * A live view for one principal: a Host in which the rest is not there, neither in lookups, lists and events nor in the calls its
   * tools make themselves.
   *
   * @throws ToolkitError `INVALID_CONFIG` for a selection that is none, or says what there is not
   */
  view(selection: ViewSelection): Host {
    const filter = new ViewFilter(selection, this.#parts.catalog);
    this.#parts.ruleCheck.add(...filter.lists());
    const directory = new Directory(this.#parts.catalog, this.#lifecycle, filter);
    const scope = filter.principal === undefined ? undefined : new PrincipalScope(filter.principal);
    return new View(new CallRouter(directory, this.#parts.executor, { scope }), this, filter);
  }

  /**
   * Takes down what one model run may use: a frozen view with names models accept.
   *
   * @throws ToolkitError `NOT_FOUND` for a forced or excluded ref nothing has, `INVALID_INPUT` for a selection that contradicts itself,
   *   `INVALID_CONFIG` for a policy or selection that is none, or says what there is not
   */
  async toolset(options?: ToolsetRequest): Promise<Toolset> {
    const toolset = await Toolset.of(this, options);
    this.#parts.ruleCheck.add(...runRules(toolset.policy, emptyScope).lists("policy of a toolset"));
    return toolset;
  }

  /**
   * Says what a key means and what a call of it would go through: every candidate, the rule that hides or refuses it, its connector, alias
   * and cost. It never fails: of a key that means nothing it says why. `String(...)` of it is for people.
   *
   * @param options - `toolset`: how it stands in that one. Default: in one of all tools
   */
  async explain(key: string, options?: ExplainOptions): Promise<Explanation> {
    return explain(key, this.#parts, options);
  }

  /** Listens to events of a type, or to all with `*`, until the returned function is called. */
  on<T extends ToolkitEventType | "*">(type: T, listener: EventListener<T>): () => void {
    assertListener(type, listener);
    return this.#parts.events.on(type, listener as (event: ToolkitEvent) => void);
  }

  /**
   * All events until it is closed, as they happen; a reader that is too slow loses the oldest, and receives `eventsLost`.
   *
   * @throws ToolkitError `INVALID_INPUT` for a limit that is no whole number from 1
   */
  events(options: EventStreamOptions = {}): AsyncIterableIterator<ToolkitEvent> {
    assertEventOptions(options);
    const { limit, signal, closed } = { ...options, closed: this.#lifecycle.closed };
    const subscribe = (listener: (event: ToolkitEvent) => void) => this.#parts.events.on("*", listener);
    return eventStream<ToolkitEvent>(
      { subscribe, lost: (count) => ({ type: "eventsLost", count }) },
      { limit, signal: signal === undefined ? closed : AbortSignal.any([signal, closed]) },
    );
  }

  /** For the console. */
  [inspect](depth: number, options: InspectOptions): string {
    const { catalog, connectors } = this.#parts;
    const kinds = ["tool", "prompt", "resource"] as const;
    const [tools, prompts, resources] = kinds.map((kind) => catalog.select({ kinds: [kind] }, "").count);
    const connections = connectors.connections.map(({ namespace, state }) => `${namespace}: ${state}`);
    return shownAs("Toolkit", { tools, prompts, resources, connections }, depth, options);
  }
}
