import type { Connector } from "../../core/connector.ts";
import { ToolkitError } from "../../core/error.ts";
import type { StdioTarget } from "../../core/target.ts";
import { systemClock } from "../../lib/clock.ts";
import type { ConnectorOptions } from "../../mcp/open-session.ts";
import type { Fault, FaultEnd } from "./active-faults.ts";
import { type ClientConversation, type Endpoint, freezing } from "./client-conversation.ts";
import { describeFault, type FaultName, type FaultOptions } from "./faults.ts";
import type { FaultyOffer, FaultyServerOptions } from "./faulty-offer.ts";
import { FaultyState } from "./faulty-state.ts";
import { HttpEndpoint, type Listening, type ListenOptions } from "./http-endpoint.ts";
import { InMemoryEndpoint } from "./in-memory-endpoint.ts";
import { StdioEndpoint } from "./stdio-endpoint.ts";

/** An MCP server with faults that a test switches on. Disposing of it ends everything it started. */
export class FaultyServer implements AsyncDisposable {
  readonly #state: FaultyState;
  readonly #endpoints = new Set<Endpoint>();
  #inMemory: InMemoryEndpoint | undefined;
  #stdio: Promise<StdioEndpoint> | undefined;

  /** See `faultyServer`. */
  constructor(options: FaultyServerOptions) {
    this.#state = new FaultyState(options, options.clock ?? systemClock);
  }

  /** A connector to it within this process. The options are those of `inMemoryConnector`. */
  connector(options: ConnectorOptions = {}): Connector {
    this.#inMemory ??= this.#add(new InMemoryEndpoint(this.#state));
    return this.#inMemory.connector(options);
  }

  /**
   * Serves stdio. Each connection starts a real child process, which relays to this one: the state of tools survives the child.
   *
   * @returns a target for `addConnector`
   */
  async stdio(): Promise<StdioTarget> {
    this.#stdio ??= StdioEndpoint.open(this.#state).then((endpoint) => this.#add(endpoint));
    return (await this.#stdio).target();
  }

  /** Serves Streamable HTTP, on this machine alone. It may listen on several ports. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    return this.#add(await HttpEndpoint.open(this.#state, options));
  }

  /**
   * Switches a fault on; `faultCatalog` describes each. It is in force when this resolves.
   *
   * @throws ToolkitError `INVALID_CONFIG` for an unknown fault or option, or a fault that cannot happen over the transports in use
   */
  async fault(name: FaultName, options: FaultOptions = {}): Promise<Fault> {
    const changed = (how: FaultEnd) => this.#changed(name, how);
    const fault = this.#state.faults.add(name, options, changed);
    const { transports, needsSession = false } = describeFault(name);
    if (needsSession && this.#state.isStateless) {
      await fault.off();
      const message = `The fault ${name} happens to a session, and a server of 2026-07-28 has none.`;
      throw new ToolkitError("INVALID_CONFIG", message, { path: "fault" });
    }
    const open = [...this.#endpoints].map(({ transport }) => transport);
    if (open.length > 0 && !open.some((transport) => transports.includes(transport))) {
      await fault.off();
      const message = `The fault ${name} happens over ${transports.join(", ")}, and the server is reached over ${open.join(", ")}.`;
      throw new ToolkitError("INVALID_CONFIG", message, { path: "fault" });
    }
    await this.#changed(name, undefined);
    return fault;
  }

  /** Switches off a fault, also one that is on several times, or all faults. */
  async clear(name?: FaultName): Promise<void> {
    await this.#state.faults.clear(name);
  }

  /** The number of runs with this `id` in the input of a tool, over all connections. */
  runs(id: string): number {
    return this.#state.runs(id);
  }

  /** Changes the offered items, and notifies all clients of the changed lists. */
  change(offer: FaultyOffer): void {
    this.#state.offer = { ...this.#state.offer, ...offer };
    for (const kind of Object.keys(offer)) this.notify(`notifications/${kind}/list_changed`);
  }

  /** The names of its tools and prompts and the URIs of its resources, sorted, to compare with a catalog. */
  get offers(): {
    readonly tools: readonly string[];
    readonly prompts: readonly string[];
    readonly resources: readonly string[];
  } {
    const { tools, prompts, resources } = this.#state.offer;
    const names = (record: object) => Object.keys(record).sort();
    return { tools: names(tools), prompts: names(prompts), resources: names(resources) };
  }

  /** Sends a notification to all clients, such as `notifications/tools/list_changed`. */
  notify(method: string, params?: object): void {
    for (const conversation of this.#conversations()) conversation.notify(method, params);
  }

  /** Notifies the subscribers of a resource of a change. Returns their number. */
  touch(uri: string): number {
    const subscribers = this.#conversations().filter(({ subscriptions }) => subscriptions.has(uri));
    for (const conversation of subscribers) conversation.notify("notifications/resources/updated", { uri });
    return subscribers.length;
  }

  /**
   * Sends a request to each client, such as `ping` or `roots/list`.
   *
   * @returns their results
   * @throws Error with the first answer that is no result
   */
  request(method: string, params?: object): Promise<readonly unknown[]> {
    return Promise.all(this.#conversations().map((conversation) => conversation.request(method, params)));
  }

  /** Running processes, open connections and unanswered requests, each in a few words. */
  running(): readonly string[] {
    return [...this.#endpoints].flatMap((endpoint) => endpoint.running());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stdio;
    await Promise.all([...this.#endpoints].map((endpoint) => endpoint.close()));
    await this.clear();
  }

  #add<T extends Endpoint>(endpoint: T): T {
    this.#endpoints.add(endpoint);
    return endpoint;
  }

  #conversations(): readonly ClientConversation[] {
    return [...this.#endpoints].flatMap((endpoint) => [...endpoint.conversations]);
  }

  async #changed(name: FaultName, how: FaultEnd | undefined): Promise<void> {
    const freezes = freezing.find((each) => each === name);
    if (freezes !== undefined && how === undefined) this.#freeze(freezes);
    for (const conversation of this.#conversations()) conversation.faultChanged(name);
    if (changesTools.has(name)) this.notify("notifications/tools/list_changed");
    // A fault that has used up its times leaves its victims as they are.
    if (how === "used up" && name !== "down") return;
    await Promise.all([...this.#endpoints].map((endpoint) => endpoint.faultChanged(name)));
  }

  #freeze(name: (typeof freezing)[number]): void {
    // The newest first: over HTTP an older conversation may have lost its client.
    for (const conversation of [...this.#conversations()].reverse()) {
      if (!conversation.frozen && this.#state.faults.take(name) !== undefined) conversation.freeze();
    }
  }
}

/** The faults that change the list of tools. */
const changesTools: ReadonlySet<FaultName> = new Set(["schema-drift", "odd-schema"]);

/**
 * Makes an MCP server for fault tests of a service: in this process, as a child process and over HTTP, with tools that count their runs.
 * It has a JSON-RPC of its own, so that it can violate the protocol.
 *
 * @throws ToolkitError `INVALID_CONFIG` for a `protocol` that there is not
 *
 * @example
 * ```ts
 * await using server = faultyServer();
 * const connection = toolkit.addConnector(await server.stdio());
 * await connection.ready();
 * const death = await server.fault("die-after", { times: 1 });
 * await expect(toolkit.call("record", { id: "a" })).rejects.toMatchObject({ code: "OUTCOME_UNKNOWN" });
 * await expect(connection).toRecoverWithin(5_000, { after: death.since });
 * expect(server.runs("a")).toBe(1);
 * ```
 */
export function faultyServer(options: FaultyServerOptions = {}): FaultyServer {
  return new FaultyServer(options);
}
