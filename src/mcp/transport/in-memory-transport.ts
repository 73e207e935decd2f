import { InMemoryTransport as SdkInMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
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

/** The SDK's linked pair: messages between two objects of this process, handed over as they are, in order. */
export class InMemoryTransport implements Transport {
  readonly name = "in-memory";
  readonly sharesObjects = true;
  // A server that is blocked blocks this process.
  readonly silenceMs = Number.POSITIVE_INFINITY;
  readonly #create: ServerFactory;
  readonly #near: SdkInMemoryTransport;
  readonly #far: SdkInMemoryTransport;
  #open = true;

  constructor(create: ServerFactory) {
    this.#create = create;
    [this.#near, this.#far] = SdkInMemoryTransport.createLinkedPair();
  }

  async start(events: TransportEvents, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    this.#near.onmessage = (message: unknown) => {
      if (!this.#open) return;
      if (isRpcMessage(message)) events.message(message);
      else events.warning("It sent something that is no message.");
    };
    // The pair reports its end twice.
    this.#near.onclose = () => {
      if (!this.#open) return;
      this.#open = false;
      events.closed(new Error("the server closed the connection"));
    };
    const aborted = Promise.withResolvers<never>();
    const onAbort = () => aborted.reject(signal.reason);
    signal.addEventListener("abort", onAbort);
    try {
      await this.#near.start();
      // A server that never gets ready must not hold the attempt. Its own types differ from ours in nothing but strictness.
      await Promise.race([this.#create(this.#far as unknown as ServerTransport), aborted.promise]);
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  send(message: RpcMessage): Promise<void> {
    if (!this.#open) throw new ConnectionLostError("the server closed the connection", { sent: false });
    return this.#near.send(message as JSONRPCMessage);
  }

  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#near.close();
  }
}
