import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ListRootsRequestSchema, McpError } from "@modelcontextprotocol/sdk/types.js";
import type { JsonSchemaValidator, jsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/types.js";
import { z } from "zod";
import type { Progress } from "../../core/session.ts";
import type { Transport } from "../transport/transport.ts";
import { Bridge, LocalFailure } from "./bridge.ts";
import { ConnectionLostError, RpcError } from "./error.ts";
import { isRecord, type RequestId } from "./message.ts";

/** How a request is made. */
export interface RequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Hears the progress the far side reports. With it the request carries a progress token. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/** What a peer does with what the far side says unasked. None of these throws. */
export interface PeerHandlers {
  notification(method: string, params: Readonly<Record<string, unknown>>): void;
  gap(): void;
  warning(text: string): void;
}

/** What a peer says of itself. */
export interface PeerOptions {
  readonly clientInfo: { readonly name: string; readonly version: string; readonly title?: string | undefined };
  /** Given, the far side may ask for them. */
  readonly roots: readonly { readonly uri: string; readonly name?: string | undefined }[] | undefined;
  /** Aborts the opening of the transport. */
  readonly signal: AbortSignal;
}

/** What the handshake told. */
export interface Greeting {
  readonly name: string | undefined;
  readonly version: string | undefined;
  readonly title: string | undefined;
  readonly instructions: string | undefined;
  readonly protocolVersion: string | undefined;
  readonly capabilities: Readonly<Record<string, unknown>>;
}

// Results as they came: nothing is stripped and nothing refused. What is read of them is checked where it is read.
const anyResult = z.any();
// Time limits are the pipeline's. This is the longest a timer can be.
const noTimeout = 2 ** 31 - 1;
// Output is validated by the pipeline, with schemas cached by content.
const noValidator: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (input) => ({ valid: true, data: input as T, errorMessage: undefined });
  },
};

/**
 * The SDK's client, used raw: requests with a loose schema, one abort listener a request which goes with it, one cancel a request,
 * and for what is lost whether it was sent.
 */
export class Peer {
  readonly #client: Client;
  readonly #bridge: Bridge;
  readonly #ended = Promise.withResolvers<Error | undefined>();
  #open = true;
  #endError: Error | undefined;

  constructor(transport: Transport, handlers: PeerHandlers, { clientInfo, roots, signal }: PeerOptions) {
    const { name, version, title } = clientInfo;
    this.#client = new Client(
      { name, version, ...(title === undefined ? {} : { title }) },
      { capabilities: roots === undefined ? {} : { roots: {} }, jsonSchemaValidator: noValidator },
    );
    this.#client.fallbackNotificationHandler = async ({ method, params }) => {
      if (this.#open) handlers.notification(method, isRecord(params) ? params : {});
    };
    if (roots !== undefined) {
      const list = roots.map((root) =>
        root.name === undefined ? { uri: root.uri } : { uri: root.uri, name: root.name },
      );
      this.#client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: list }));
    }
    const events = {
      gap: () => this.#open && handlers.gap(),
      warning: (text: string) => this.#open && handlers.warning(text),
      closed: (error: Error | undefined) => this.#end(error),
    };
    this.#bridge = new Bridge(transport, events, signal);
  }

  /** Resolves when the connection has ended, with why if `close` was not called. */
  get closed(): Promise<Error | undefined> {
    return this.#ended.promise;
  }

  /** Opens the transport and shakes hands. The SDK negotiates the revision. */
  async connect(): Promise<Greeting> {
    try {
      await this.#client.connect(this.#bridge, { timeout: noTimeout });
    } catch (error) {
      throw this.#explained(error);
    }
    const server = this.#client.getServerVersion();
    return {
      name: server?.name,
      version: server?.version,
      title: server?.title,
      instructions: this.#client.getInstructions(),
      protocolVersion: this.#bridge.protocolVersion,
      capabilities: this.#client.getServerCapabilities() ?? {},
    };
  }

  /**
   * Sends a request and gives its result as it came.
   *
   * @throws RpcError for an error answered, ConnectionLostError, whatever the transport throws, or the signal's reason
   */
  request(method: string, params: Record<string, unknown> | undefined, options: RequestOptions = {}): Promise<unknown> {
    const { signal, onProgress } = options;
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (!this.#open) return Promise.reject(this.#lostError(false));
    const sdkOptions =
      onProgress === undefined ? { timeout: noTimeout } : { timeout: noTimeout, onprogress: onProgress };
    // The SDK's own abort listeners stay on the signal, and report an abort as a timeout: it is not given one.
    const request = params === undefined ? { method } : { method, params };
    const answer = this.#client.request(request, anyResult, sdkOptions);
    const id = this.#bridge.lastId;
    if (signal === undefined || id === undefined) return answer.catch((error) => this.#throw(error));
    const onAbort = () => this.#cancel(id, signal.reason);
    signal.addEventListener("abort", onAbort);
    return answer.then(
      (result) => {
        signal.removeEventListener("abort", onAbort);
        return result;
      },
      (error) => {
        signal.removeEventListener("abort", onAbort);
        return this.#throw(error);
      },
    );
  }

  /** Ends the connection. Requests in flight are lost. Idempotent. */
  close(): Promise<void> {
    return this.#bridge.close();
  }

  #cancel(id: RequestId, reason: unknown): void {
    this.#bridge.fail(id, reason);
    this.#bridge.cancel(id, reason);
  }

  #throw(error: unknown): never {
    throw this.#explained(error);
  }

  #explained(error: unknown): unknown {
    if (!(error instanceof McpError)) return error;
    if (error.data instanceof LocalFailure) return error.data.error;
    if (!this.#open) return this.#lostError(true);
    const { code, data } = error;
    return new RpcError({ code, data, message: error.message.replace(/^MCP error -?\d+: /, "") });
  }

  #end(error: Error | undefined): void {
    if (!this.#open) return;
    this.#open = false;
    this.#endError = error;
    this.#ended.resolve(error);
  }

  #lostError(sent: boolean): Error {
    const error = this.#endError;
    const why = error === undefined ? "the connection was closed" : error.message;
    return new ConnectionLostError(why, { sent, cause: error });
  }
}
