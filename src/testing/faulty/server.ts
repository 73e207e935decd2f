import type { Connector } from "../../core/connector.ts";
import { ToolkitError } from "../../core/error.ts";
import type { StdioTarget } from "../../core/target.ts";
import { systemClock } from "../../lib/clock.ts";
import type { ConnectorOptions } from "../../mcp/open-session.ts";
import type { Conversation } from "./conversation.ts";
import type { FaultyOffer, FaultyServerOptions } from "./definition.ts";
import type { Endpoint } from "./endpoint.ts";
import { describeFault, type FaultName, type FaultOptions } from "./faults.ts";
import { HttpEndpoint, type Listening, type ListenOptions } from "./http.ts";
import { InMemoryEndpoint } from "./in-memory.ts";
import { Script } from "./script.ts";
import { StdioEndpoint } from "./stdio.ts";
import type { Fault, Off } from "./switchboard.ts";

/** An MCP server that fails as it is told to. Disposed of, everything it started is ended. */
export class FaultyServer implements AsyncDisposable {
  readonly #script: Script;
  readonly #endpoints = new Set<Endpoint>();
  #inMemory: InMemoryEndpoint | undefined;
  #stdio: Promise<StdioEndpoint> | undefined;

  /** See `faultyServer`. */
  constructor(options: FaultyServerOptions) {
    this.#script = new Script(options, options.clock ?? systemClock);
  }

  /** Reaches it within this process. The options are those of `inMemoryConnector`. */
  connector(options: ConnectorOptions = {}): Connector {
    this.#inMemory ??= this.#add(new InMemoryEndpoint(this.#script));
    return this.#inMemory.connector(options);
  }

  /**
   * Makes it reachable over stdio. Each connection starts a real child process, which relays to this one: what tools remember
   * survives the child.
   *
   * @returns what starts a child, for `addConnector`
   */
  async stdio(): Promise<StdioTarget> {
    this.#stdio ??= StdioEndpoint.open(this.#script).then((endpoint) => this.#add(endpoint));
    return (await this.#stdio).target();
  }

  /** Makes it reachable over Streamable HTTP, on this machine alone. It may listen several times. */
  async listen(options: ListenOptions = {}): Promise<Listening> {
    return this.#add(await HttpEndpoint.open(this.#script, options));
  }

  /**
   * Switches a fault on: what it does stands in `faultCatalog`. It is in force when this resolves.
   *
   * @throws ToolkitError `INVALID_CONFIG` for a fault there is not, one that cannot happen on the transports there are, or an option
   *   that is not one of it
   */
  async fault(name: FaultName, options: FaultOptions = {}): Promise<Fault> {
    const changed = (how: Off) => this.#changed(name, how);
    const fault = this.#script.faults.add(name, options, changed);
    const { transports } = describeFault(name);
    const open = [...this.#endpoints].map(({ transport }) => transport);
    if (open.length > 0 && !open.some((transport) => transports.includes(transport))) {
      await fault.off();
      const message = `The fault ${name} happens over ${transports.join(", ")}, and the server is reached over ${open.join(", ")}.`;
      throw new ToolkitError("INVALID_CONFIG", message, { path: "fault" });
    }
    await this.#changed(name, undefined);
    return fault;
  }

  /** Switches off a fault, however often it was switched on, or all of them. */
  async clear(name?: FaultName): Promise<void> {
    await this.#script.faults.clear(name);
  }

  /** How often tools have run with this text as `id` in their input, in whatever connection. */
  runs(id: string): number {
    return this.#script.runs(id);
  }

  /** Offers something else from now on, and tells all clients which lists changed. */
  change(offer: FaultyOffer): void {
    this.#script.offer = { ...this.#script.offer, ...offer };
    for (const kind of Object.keys(offer)) this.notify(`notifications/${kind}/list_changed`);
  }

  /** The names of the tools and prompts and the URIs of the resources it offers, sorted: what a catalogue should have. */
  get offers(): {
    readonly tools: readonly string[];
    readonly prompts: readonly string[];
    readonly resources: readonly string[];
  } {
    const { tools, prompts, resources } = this.#script.offer;
    const names = (record: object) => Object.keys(record).sort();
    return { tools: names(tools), prompts: names(prompts), resources: names(resources) };
  }

  /** Sends a notification to all clients, such as `notifications/tools/list_changed`. */
  notify(method: string, params?: object): void {
    for (const conversation of this.#conversations()) conversation.notify(method, params);
  }

  /** Tells those who subscribed to a resource that it changed, and how many that were. */
  touch(uri: string): number {
    const subscribers = this.#conversations().filter(({ subscriptions }) => subscriptions.has(uri));
    for (const conversation of subscribers) conversation.notify("notifications/resources/updated", { uri });
    return subscribers.length;
  }

  /**
   * Asks each client, such as `ping` or `roots/list`.
   *
   * @returns what they answered
   * @throws Error with what the first answered instead of a result
   */
  request(method: string, params?: object): Promise<readonly unknown[]> {
    return Promise.all(this.#conversations().map((conversation) => conversation.request(method, params)));
  }

  /** What runs or is open, each in a few words: processes, connections, requests without an answer. */
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

  #conversations(): readonly Conversation[] {
    return [...this.#endpoints].flatMap((endpoint) => [...endpoint.conversations]);
  }

  async #changed(name: FaultName, how: Off | undefined): Promise<void> {
    if (name === "half-open" && how === undefined) this.#freeze();
    for (const conversation of this.#conversations()) conversation.faultChanged(name);
    if (changesTools.has(name)) this.notify("notifications/tools/list_changed");
    // What has used up its times leaves those it happened to as they are.
    if (how === "used up" && name !== "down") return;
    await Promise.all([...this.#endpoints].map((endpoint) => endpoint.faultChanged(name)));
  }

  #freeze(): void {
    // The newest first: over HTTP nobody may be left in an older one.
    for (const conversation of [...this.#conversations()].reverse()) {
      if (!conversation.frozen && this.#script.faults.take("half-open") !== undefined) conversation.freeze();
    }
  }
}

/** The faults that make another list of tools. */
const changesTools: ReadonlySet<FaultName> = new Set(["schema-drift", "odd-schema"]);

/**
 * Makes an MCP server for tests of how a service stands faults: reachable in this process, as a child process and over HTTP, with
 * tools that tell how often they ran. It speaks JSON-RPC by itself, so that it can do it wrong.
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
