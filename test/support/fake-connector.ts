import type { ServerInfo } from "../../src/core/connection.ts";
import type {
  Connector,
  ConnectorHost,
  ConnectorSession,
  DescriptorList,
  DescriptorMap,
  ToolDescriptor,
} from "../../src/core/connector.ts";
import type { CallContext, Kind } from "../../src/core/item.ts";
import type { Content, ReadOptions } from "../../src/core/resource.ts";
import { resource } from "../../src/resource/resource-factory.ts";

/** The items of the far side, by kind: descriptors, or the error of their list. */
export type FakeLists = { [K in Kind]?: FakeList<K> };
type FakeList<K extends Kind> =
  | readonly DescriptorMap[K][]
  | DescriptorList<K>
  | Error
  | ((options: ReadOptions) => Promise<DescriptorList<K>>);

/** The outcome of an attempt. */
export type FakeOutcome = "connect" | "hang" | "ignore" | Error;

export interface FakeOptions {
  readonly label?: string;
  readonly key?: string;
  readonly suggestedName?: string;
  readonly serverName?: string;
  readonly lists?: FakeLists;
  readonly announces?: readonly Kind[];
}

/** A far side in the hands of the test. */
export class FakeConnector implements Connector {
  readonly label: string;
  readonly key?: string;
  readonly suggestedName?: string;
  /** Its items now. */
  lists: FakeLists;
  announces: ReadonlySet<Kind>;
  serverName: string;
  instructions: string | undefined;
  /** The outcomes of the next attempts, in order; then each connects. `hang` obeys its signal, `ignore` does not. */
  outcomes: FakeOutcome[] = [];
  /** Answers a call. Default: says the name and input. */
  answer: (name: string, input: unknown, context: CallContext) => Promise<Content>;
  attempts = 0;
  readonly sessions: FakeSession[] = [];
  /** Answers a ping. Default: at once. */
  pinged: (options: ReadOptions) => Promise<void> = async () => undefined;
  pings = 0;
  /** Answers a subscription. Default: it has none. */
  subscribed: ((uri: string, options: ReadOptions) => Promise<void>) | undefined;
  /** Answers the end of a subscription. Default: at once. */
  unsubscribed: () => Promise<void> = async () => undefined;
  /** Attempts that neither connected nor ended. */
  hanging = 0;
  /** Lets an attempt that ignores its signal connect after all. */
  readonly late: (() => void)[] = [];
  /** The number of times each list was read. */
  readonly reads: Record<Kind, number> = { tool: 0, prompt: 0, resource: 0, template: 0 };

  constructor(options: FakeOptions = {}) {
    const { label = "fake", key, suggestedName, serverName = "fake", lists = {} } = options;
    this.label = label;
    if (key !== undefined) this.key = key;
    if (suggestedName !== undefined) this.suggestedName = suggestedName;
    this.serverName = serverName;
    this.lists = lists;
    this.announces = new Set(options.announces ?? ["tool", "prompt", "resource", "template"]);
    this.answer = async (name, input) => resource.json("answer", { name, input });
  }

  /** The newest session. */
  get session(): FakeSession {
    const session = this.sessions.at(-1);
    if (session === undefined) throw new Error(`${this.label} never connected.`);
    return session;
  }

  /** Sessions that were not disposed of. */
  get open(): number {
    return this.sessions.filter(({ disposed }) => disposed === 0).length;
  }

  async connect({
    signal,
    host,
  }: {
    readonly signal: AbortSignal;
    readonly host: ConnectorHost;
  }): Promise<ConnectorSession> {
    this.attempts += 1;
    signal.throwIfAborted();
    const outcome = this.outcomes.shift() ?? "connect";
    if (outcome instanceof Error) throw outcome;
    if (outcome !== "connect") {
      this.hanging += 1;
      await new Promise<void>((resolve, reject) => {
        this.late.push(resolve);
        if (outcome === "hang") signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      }).finally(() => {
        this.hanging -= 1;
      });
    }
    const session = new FakeSession(this, host);
    this.sessions.push(session);
    return session;
  }
}

/** One generation of a fake connection. */
export class FakeSession implements ConnectorSession {
  readonly transport = "fake";
  readonly host: ConnectorHost;
  readonly closed: Promise<Error | undefined>;
  readonly server: ServerInfo;
  disposed = 0;
  /** The requests about subscriptions, in order. */
  readonly log: string[] = [];
  readonly subscriptions = new Set<string>();
  readonly subscribe?: (uri: string, options: ReadOptions) => Promise<void>;
  readonly unsubscribe?: (uri: string) => Promise<void>;
  /** The number of messages it sent. */
  said = 0;
  /** The promise that disposing of it waits for. */
  ending: Promise<void> | undefined;
  readonly #connector: FakeConnector;
  readonly #close: (error: Error | undefined) => void;

  constructor(connector: FakeConnector, host: ConnectorHost) {
    this.#connector = connector;
    this.host = host;
    const { serverName: name, instructions } = connector;
    this.server = { name, version: "1", instructions, protocolVersion: "fake-1", capabilities: {} };
    const { promise, resolve } = Promise.withResolvers<Error | undefined>();
    this.closed = promise;
    this.#close = resolve;
    if (connector.subscribed === undefined) return;
    this.subscribe = async (uri, options) => {
      this.log.push(`subscribe ${uri}`);
      await connector.subscribed?.(uri, options);
      this.subscriptions.add(uri);
    };
    this.unsubscribe = async (uri) => {
      this.log.push(`unsubscribe ${uri}`);
      await connector.unsubscribed();
      this.subscriptions.delete(uri);
    };
  }

  get announces(): ReadonlySet<Kind> {
    return this.#connector.announces;
  }

  get list(): ConnectorSession["list"] {
    const listers = Object.keys(this.#connector.lists).map((kind) => [
      kind,
      (options: ReadOptions) => this.#read(kind as Kind, options),
    ]);
    return Object.fromEntries(listers) as ConnectorSession["list"];
  }

  readonly stderr = () => "said on stderr";

  call(name: string, input: unknown, context: CallContext): Promise<Content> {
    return this.#connector.answer(name, input, context);
  }

  received(): number {
    return this.said;
  }

  async ping(options: ReadOptions): Promise<void> {
    this.#connector.pings += 1;
    await this.#connector.pinged(options);
  }

  async render(name: string) {
    return { messages: [{ role: "user" as const, content: [resource.text("prompt", `render ${name}`)] }] };
  }

  async read(uri: string): Promise<Content> {
    return resource.text("read", `${uri} of session ${this.#connector.sessions.indexOf(this) + 1}`);
  }

  /** The far side has gone. */
  lose(error: Error | undefined = new Error("gone")): void {
    this.#close(error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.disposed += 1;
    await this.ending;
    this.#close(undefined);
  }

  async #read<K extends Kind>(kind: K, options: ReadOptions): Promise<DescriptorList<K>> {
    this.#connector.reads[kind] += 1;
    const list = this.#connector.lists[kind] as FakeList<K>;
    if (list instanceof Error) throw list;
    if (typeof list === "function") return list(options);
    return "items" in list ? list : { items: list, warnings: [] };
  }
}

/** Tools by name. */
export function tools(...names: readonly string[]): readonly ToolDescriptor[] {
  return names.map((name) => ({ name, input: { type: "object" } }));
}
