import type { Connector, ConnectorHost, ConnectorSession, DescriptorList } from "../../src/core/connector.ts";
import type { CallContext } from "../../src/core/item.ts";
import type { Content } from "../../src/core/resource.ts";
import { resource } from "../../src/resource/resource-factory.ts";
import { tools } from "../support/fake-connector.ts";

/** The tool that every version of the server has. */
export const toolName = "forecast";

/** A session of the server, from the beginning of its attempt. */
export class ModelSession implements ConnectorSession {
  readonly server = { name: "far", capabilities: {} };
  readonly transport = "model";
  readonly announces = new Set(["tool"] as const);
  readonly host: ConnectorHost;
  readonly opening = Promise.withResolvers<ModelSession>();
  readonly #closing = Promise.withResolvers<Error | undefined>();
  readonly #far: ModelServer;
  state: "opening" | "failed" | "open" | "lost" | "disposed" = "opening";

  constructor(far: ModelServer, host: ConnectorHost) {
    this.#far = far;
    this.host = host;
  }

  get closed(): Promise<Error | undefined> {
    return this.#closing.promise;
  }

  get list(): ConnectorSession["list"] {
    return { tool: () => this.#tools() };
  }

  async #tools(): Promise<DescriptorList<"tool">> {
    if (this.state === "disposed") this.#far.breaches.push("a list of a session that was disposed of was read");
    const { gate, names } = this.#far;
    gate?.readers.add(this);
    await gate?.opened.promise;
    return { items: tools(...names), warnings: [] };
  }

  call(_name: string, input: unknown, context: CallContext): Promise<Content> {
    const { id } = input as { readonly id: number };
    return this.#far.deliver(id, this, context.signal);
  }

  succeed(): void {
    if (this.state !== "opening") return;
    this.state = "open";
    this.opening.resolve(this);
  }

  fail(): void {
    if (this.state !== "opening") return;
    this.state = "failed";
    this.opening.reject(new Error("refused"));
  }

  lose(): void {
    if (this.state === "open") this.state = "lost";
    this.#closing.resolve(new Error("gone"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.state === "disposed") this.#far.breaches.push("a session was disposed of twice");
    this.state = "disposed";
    this.#closing.resolve(undefined);
  }
}

interface Gate {
  readonly opened: PromiseWithResolvers<void>;
  readonly readers: Set<ModelSession>;
}

interface Delivery {
  readonly id: number;
  readonly session: ModelSession;
  readonly answer: PromiseWithResolvers<Content>;
}

/** A server whose every step a command decides. It notes what may never happen. */
export class ModelServer implements Connector {
  readonly label = "far";
  readonly sessions: ModelSession[] = [];
  readonly breaches: string[] = [];
  /** Calls that wait for their answer. */
  readonly pending = new Set<Delivery>();
  readonly delivered = new Set<number>();
  names: readonly string[] = [toolName];
  /** Lists that are asked for wait for the newest, if that is not open. */
  readonly gates: Gate[] = [];

  async connect({ host }: { readonly host: ConnectorHost }): Promise<ConnectorSession> {
    const session = new ModelSession(this, host);
    this.sessions.push(session);
    return session.opening.promise;
  }

  deliver(id: number, session: ModelSession, signal: AbortSignal): Promise<Content> {
    if (this.delivered.has(id)) this.breaches.push(`call ${id} was delivered twice`);
    if (session.state === "disposed") this.breaches.push(`call ${id} was delivered to a session that was disposed of`);
    if (session !== this.sessions.at(-1)) this.breaches.push(`call ${id} was delivered to an old session`);
    this.delivered.add(id);
    const delivery: Delivery = { id, session, answer: Promise.withResolvers() };
    this.pending.add(delivery);
    signal.addEventListener("abort", () => this.answer(delivery, signal.reason));
    return delivery.answer.promise;
  }

  answer(delivery: Delivery, error?: unknown): void {
    this.pending.delete(delivery);
    if (error === undefined) delivery.answer.resolve(resource.json("answer", delivery.id));
    else delivery.answer.reject(error);
  }

  get gate(): Gate | undefined {
    return this.gates.at(-1);
  }

  hold(): void {
    this.gates.push({ opened: Promise.withResolvers(), readers: new Set() });
  }

  /** Lets the lists of a gate be answered. Gives the sessions that asked for them. */
  release(which: number): ReadonlySet<ModelSession> {
    const [gate] = this.gates.splice(-1 - which, 1);
    gate?.opened.resolve();
    return gate?.readers ?? new Set();
  }
}
