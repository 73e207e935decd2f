import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import type { StdioTarget } from "../../core/target.ts";
import { packageRoot } from "../../lib/package.ts";
import { isRecord, jsonIn } from "../../lib/value.ts";
import { Child, end } from "./child.ts";
import type { ClientConversation, Endpoint } from "./client-conversation.ts";
import type { FaultName, FaultOptions } from "./faults.ts";
import type { FaultyState } from "./faulty-state.ts";

/** The program of a child, from the sources or from the build. */
function relayFile(): string {
  const [folder, ending] = import.meta.url.endsWith(".ts") ? ["src", "ts"] : ["dist", "js"];
  return join(packageRoot(), folder, "testing", "faulty", `relay.${ending}`);
}

const defaultStderrPerSecond = 10_000;
/** The orders for faults that the child itself causes; undefined options switch one off. */
const orders: { readonly [N in FaultName]?: (fault: FaultOptions | undefined) => object } = {
  "ignore-term": (fault) => ({ ignoreTerm: fault !== undefined }),
  grandchild: (fault) => ({ grandchild: fault !== undefined }),
  "stderr-flood": (fault) => ({
    stderrPerSecond: fault === undefined ? 0 : (fault.perSecond ?? defaultStderrPerSecond),
  }),
};

/** Serves clients that start a child process. The child only relays, through a socket of this machine, to the server here. */
export class StdioEndpoint implements Endpoint {
  readonly transport = "stdio";
  readonly #state: FaultyState;
  readonly #server: Server;
  readonly #token = randomUUID();
  readonly #children = new Map<number, Child>();
  /** Running processes, grandchildren included. */
  readonly #processes = new Set<number>();
  readonly #sockets = new Set<Socket>();

  private constructor(state: FaultyState) {
    this.#state = state;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async open(state: FaultyState): Promise<StdioEndpoint> {
    const endpoint = new StdioEndpoint(state);
    const server = endpoint.#server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return endpoint;
  }

  get conversations(): Iterable<ClientConversation> {
    return [...this.#children.values()].flatMap(({ conversation }) => conversation ?? []);
  }

  target(): StdioTarget {
    const { port } = this.#server.address() as AddressInfo;
    return { command: process.execPath, args: [relayFile(), String(port), this.#token] };
  }

  running(): readonly string[] {
    return [...this.#processes].map((pid) => `process ${pid}`);
  }

  async faultChanged(name: FaultName): Promise<void> {
    const { faults } = this.#state;
    if (name === "down" && faults.find(name) !== undefined) this.#endAll();
    const order = orders[name];
    if (order === undefined) return;
    const off = faults.find(name) === undefined;
    for (const child of this.#children.values()) {
      const options = off ? undefined : faults.take(name);
      if (off || options !== undefined) child.order(order(options));
    }
  }

  async close(): Promise<void> {
    this.#endAll();
    for (const pid of this.#processes) end(pid);
    // The server may close before the last of its sockets says that it did.
    const closed = [...this.#sockets].map((socket) => once(socket, "close"));
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all([...closed, new Promise<void>((resolve) => this.#server.close(() => resolve()))]);
  }

  #endAll(): void {
    for (const child of this.#children.values()) child.kill();
  }

  /** The first line on a socket is its purpose. */
  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    let read: ((chunk: Buffer) => void) | undefined;
    const first = (chunk: Buffer) => {
      // The line is short and sent at once.
      const at = chunk.indexOf("\n");
      read = this.#use(socket, parsed(chunk.toString("utf8", 0, at)));
      if (at + 1 < chunk.length) read?.(chunk.subarray(at + 1));
    };
    socket.on("data", (chunk: Buffer) => (read ?? first)(chunk));
    socket.on("error", () => undefined);
    socket.on("close", () => this.#sockets.delete(socket));
  }

  #use(
    socket: Socket,
    { purpose, token, pid }: Readonly<Record<string, unknown>>,
  ): ((chunk: Buffer) => void) | undefined {
    if (token !== this.#token || typeof pid !== "number") {
      socket.destroy();
      return undefined;
    }
    if (purpose === "data") return this.#children.get(pid)?.relay(socket, this.#state);
    // The socket closes with its process, whose id the system may then reuse.
    this.#processes.add(pid);
    socket.on("close", () => this.#processes.delete(pid));
    if (purpose === "control") this.#begin(new Child(pid, socket), socket);
    return () => undefined;
  }

  #begin(child: Child, control: Socket): void {
    this.#children.set(child.pid, child);
    control.on("close", () => {
      this.#children.delete(child.pid);
      child.end();
    });
    child.order(this.#firstOrders());
  }

  /** The orders for a child at its start. */
  #firstOrders(): object {
    const { faults, name } = this.#state;
    if (faults.take("down") !== undefined) return { exit: `${name} is down` };
    const taken = Object.entries(orders).map(([fault, order]) => order(faults.take(fault as FaultName)));
    return Object.assign({}, ...taken) as object;
  }
}

/** Empty for a line of a stranger on this port. */
function parsed(line: string): Readonly<Record<string, unknown>> {
  const value = jsonIn(line);
  return isRecord(value) ? value : {};
}
