import { ConnectionLostError } from "../rpc/error.ts";
import { isRpcMessage, type RpcMessage } from "../rpc/message.ts";
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

/** Messages between two objects of this process, handed over as they are, in order. */
export class InMemoryTransport implements Transport {
  readonly name = "in-memory";
  readonly #create: ServerFactory;
  readonly #far = new FarEnd(
    (message) => this.#receive(message),
    () => this.#closed(),
  );
  #events: TransportEvents | undefined;
  #open = false;

  constructor(create: ServerFactory) {
    this.#create = create;
  }

  async start(events: TransportEvents, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.#events = events;
    this.#open = true;
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      // A server that never gets ready must not hold the attempt.
      await Promise.race([this.#create(this.#far), aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  send(message: RpcMessage): undefined {
    if (!this.#open) throw new ConnectionLostError("the server closed the connection", { sent: false });
    this.#far.deliver(message);
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    this.#far.end();
  }

  #receive(message: unknown): void {
    if (!this.#open) throw new Error("Not connected");
    if (isRpcMessage(message)) this.#events?.message(message);
    else this.#events?.warning("It sent something that is no message.");
  }

  #closed(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#events?.closed(new Error("the server closed the connection"));
  }
}

class FarEnd implements ServerTransport {
  onmessage?: ((message: unknown, extra?: unknown) => void) | undefined;
  onclose?: (() => void) | undefined;
  onerror?: ((error: Error) => void) | undefined;
  readonly #send: (message: unknown) => void;
  readonly #close: () => void;
  /** What came before the server was started. */
  #waiting: unknown[] | undefined = [];
  #open = true;

  constructor(send: (message: unknown) => void, close: () => void) {
    this.#send = send;
    this.#close = close;
  }

  async start(): Promise<void> {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const message of waiting) this.deliver(message);
  }

  async send(message: unknown): Promise<void> {
    this.#send(message);
  }

  async close(): Promise<void> {
    this.end();
    this.#close();
  }

  deliver(message: unknown): void {
    if (this.#waiting !== undefined) this.#waiting.push(message);
    else this.onmessage?.(message);
  }

  end(): void {
    if (!this.#open) return;
    this.#open = false;
    this.onclose?.();
  }
}
