import { ConnectionLostError } from "../rpc/rpc-error.ts";
import { isRpcMessage, type RpcMessage } from "../rpc/rpc-message.ts";
import type { Transport, TransportEvents } from "./transport.ts";

/**
 * The far end of an in-memory connection, as an MCP server takes it: an object of this form can be given to `connect` of the
 * MCP SDK's `Server` and `McpServer`.
 */
export interface ServerTransport {
  start(): Promise<void>;
  send(message: unknown): Promise<void>;
  close(): Promise<void>;
  onmessage?: ((message: unknown, extra?: unknown) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
}

/** Connects a server in this process to the far end it is given. */
export type ServerFactory = (transport: ServerTransport) => unknown;

const handedOver = Promise.resolve();

/** The end of the server. Messages wait until it takes them; what it sends is handed over at once, and its close too. */
class FarEnd implements ServerTransport {
  onmessage: ServerTransport["onmessage"];
  onclose: ServerTransport["onclose"];
  onerror: ServerTransport["onerror"];
  readonly #near: { message(message: unknown): void; closed(): void };
  #waiting: RpcMessage[] = [];
  #open = true;

  constructor(near: { message(message: unknown): void; closed(): void }) {
    this.#near = near;
  }

  async start(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const message of waiting) this.onmessage?.(message);
  }

  send(message: unknown): Promise<void> {
    if (!this.#open) return Promise.reject(new Error("Not connected"));
    this.#near.message(message);
    return handedOver;
  }

  async close(): Promise<void> {
    this.end();
    this.#near.closed();
  }

  receive(message: RpcMessage): void {
    if (this.onmessage === undefined) this.#waiting.push(message);
    else this.onmessage(message);
  }

  /** Closed from either side, which its server learns once. */
  end(): void {
    if (!this.#open) return;
    this.#open = false;
    this.onclose?.();
  }
}

/** Messages between two objects of this process, handed over as they are, in order. */
export class InMemoryTransport implements Transport {
  readonly name = "in-memory";
  readonly sharesObjects = true;
  // A server that is blocked blocks this process.
  readonly silenceMs = Number.POSITIVE_INFINITY;
  readonly #create: ServerFactory;
  #far: FarEnd | undefined;
  #open = true;

  constructor(create: ServerFactory) {
    this.#create = create;
  }

  async start(events: TransportEvents, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    const far = new FarEnd({
      message: (message) => {
        if (!this.#open) return;
        if (isRpcMessage(message)) events.message(message);
        else events.warning("It sent something that is no message.");
      },
      closed: () => {
        if (!this.#open) return;
        this.#open = false;
        events.closed(new Error("the server closed the connection"));
      },
    });
    this.#far = far;
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      // A server that never gets ready must not hold the attempt.
      await Promise.race([this.#create(far), aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  send(message: RpcMessage): undefined {
    if (!this.#open || this.#far === undefined)
      throw new ConnectionLostError("the server closed the connection", { sent: false });
    this.#far.receive(message);
  }

  async close(): Promise<void> {
    this.#open = false;
    this.#far?.end();
  }
}
