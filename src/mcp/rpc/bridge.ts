import type { Transport as SdkTransport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { messageOf } from "../../core/error.ts";
import type { Transport } from "../transport/transport.ts";
import { isRecord, type RequestId, type RpcMessage } from "./message.ts";

/** What a local failure says in the form of an answer; its `data` is a LocalFailure. */
const localCode = -32000;

const sent = Promise.resolve();

/** A failure on this side, carried through the SDK as the answer of a request. */
export class LocalFailure {
  readonly error: unknown;

  constructor(error: unknown) {
    this.error = error;
  }
}

/** What the one who owns a bridge is told. */
export interface BridgeEvents {
  gap(): void;
  warning(text: string): void;
  closed(error: Error | undefined): void;
}

/**
 * Our transport, as the SDK's `Client` takes one. It adds what the client needs and does not do: a request can be failed alone,
 * so that nothing of it is left behind; an answer that is none fails its request instead of being dropped; progress is heard
 * before the result that follows it.
 */
export class Bridge implements SdkTransport {
  onmessage?: SdkTransport["onmessage"];
  onclose?: () => void;
  onerror?: (error: Error) => void;
  /** Of the last request that was sent. */
  lastId: RequestId | undefined;
  /** What both sides agreed on. */
  protocolVersion: string | undefined;
  readonly #transport: Transport;
  readonly #events: BridgeEvents;
  readonly #signal: AbortSignal;
  #progressing = false;
  #ended = false;

  constructor(transport: Transport, events: BridgeEvents, signal: AbortSignal) {
    this.#transport = transport;
    this.#events = events;
    this.#signal = signal;
  }

  start(): Promise<void> {
    return this.#transport.start(
      {
        message: (message) => this.#receive(message),
        // Later than an answer that waits for the progress before it.
        lost: (id, error) => setImmediate(() => this.fail(id, error)),
        gap: () => this.#events.gap(),
        warning: (text) => this.#events.warning(text),
        closed: (error) => this.#end(error),
      },
      { signal: this.#signal },
    );
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { id, method } = message as RpcMessage;
    const request = id !== undefined && id !== null && method !== undefined ? id : undefined;
    if (request !== undefined) this.lastId = request;
    try {
      const sending = this.#transport.send(message as RpcMessage);
      if (sending === undefined) return sent;
      return request === undefined ? sending : sending.catch((error) => this.fail(request, error));
    } catch (error) {
      if (request === undefined) return Promise.reject(error);
      // The client would keep the handler of a request whose sending it is told has failed. Later: it is not waiting yet.
      queueMicrotask(() => this.fail(request, error));
      return sent;
    }
  }

  setProtocolVersion(version: string): void {
    this.protocolVersion = version;
    this.#transport.negotiated?.(version);
  }

  /** Ends a request with an error of ours. What is not waited for is ignored. */
  fail(id: RequestId, error: unknown): void {
    this.#answer(id, { code: localCode, message: messageOf(error), data: new LocalFailure(error) });
  }

  /** Tells the far side that nobody waits for a request any more. Whether it hears changes nothing for the caller. */
  cancel(id: RequestId, reason: unknown): void {
    const params = { requestId: id, reason: messageOf(reason) };
    const forget = () => this.#transport.forget?.(id);
    this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params }).then(forget, forget);
  }

  async close(): Promise<void> {
    this.#end(undefined);
    await this.#transport.close();
  }

  #receive(message: RpcMessage): void {
    const { id, method } = message;
    if (method !== undefined) {
      if (method === "notifications/progress") this.#progressing = true;
      this.onmessage?.(message as JSONRPCMessage);
    } else if (id === undefined || id === null) {
      this.#events.warning(`It reported an error for no request: ${messageOf(message.error)}`);
    } else if (this.#progressing) {
      // The client hears notifications a moment later than answers: let it come to them first.
      this.#progressing = false;
      queueMicrotask(() => this.#settle(id, message));
    } else this.#settle(id, message);
  }

  #settle(id: RequestId, { result, error }: RpcMessage): void {
    if (isRecord(error)) {
      const code = Number.isInteger(error.code) ? error.code : 0;
      this.#answer(id, { ...error, code, message: typeof error.message === "string" ? error.message : "no message" });
    } else if (isRecord(result) && (result._meta === undefined || isRecord(result._meta))) {
      this.onmessage?.({ jsonrpc: "2.0", id, result });
    } else this.#answer(id, { code: 0, message: "It answered with neither a result nor an error." });
  }

  #answer(id: RequestId, error: { readonly code: number; readonly message: string; readonly data?: unknown }): void {
    this.onmessage?.({ jsonrpc: "2.0", id, error });
  }

  #end(error: Error | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#events.closed(error);
    this.onclose?.();
  }
}
