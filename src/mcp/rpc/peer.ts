import { callStateOf } from "../../call/call-port.ts";
import type { CallContext } from "../../core/item.ts";
import type { Progress } from "../../core/session.ts";
import { isNestedDeeper } from "../../lib/nesting.ts";
import { tooDeep } from "../limits.ts";
import type { Caller, Transport, TransportEvents } from "../transport/transport.ts";
import { type Cancellation, Cancelled } from "./cancellation.ts";
import { ConnectionLostError, RpcError } from "./error.ts";
import { FarRequests, type FarRequestsHost, textOf } from "./far-requests.ts";
import { isRecord, type RequestId, type RpcMessage } from "./message.ts";

/** How a request is made. */
export interface RequestOptions {
  readonly cancellation?: Cancellation | undefined;
  /** Hears the progress the far side reports. With it the request carries a progress token. */
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The call it is made for: whose credentials it carries, and on whose behalf the far side asks what it asks in answer. */
  readonly context?: CallContext | undefined;
  /** How deep the result may be nested. Default: as deep as any message. */
  readonly maxNestingDepth?: number | undefined;
}

/** What the far side may send. */
export interface PeerLimits {
  /** How many objects and lists may be inside each other in a result, an error's data or the parameters of what it says. */
  readonly maxNestingDepth: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** What a peer does with what the far side says unasked. None of these throws. */
export interface PeerHandlers extends Pick<FarRequestsHost, "request" | "warning"> {
  notification(method: string, params: Fields): void;
  gap(): void;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: unknown): void;
  onProgress: ((progress: Progress) => void) | undefined;
  cancellation: Cancellation | undefined;
  onCut: ((reason: unknown) => void) | undefined;
  readonly maxNestingDepth: number;
  context: CallContext | undefined;
}

const noParams: Fields = {};

/**
 * One end of a JSON-RPC connection: matches answers with requests, and hands on what comes unasked.
 *
 * It does the work of the SDK's `Protocol` class in the way a supervised connector needs it: every message is handled in the order
 * it came (so the last progress is heard before its result), one abort listener a request which goes with it, one cancel a
 * request, results as they came, and for what is lost whether it was sent.
 */
export class Peer {
  readonly #transport: Transport;
  readonly #handlers: PeerHandlers;
  readonly #limits: PeerLimits;
  readonly #pending = new Map<RequestId, Pending>();
  readonly #far: FarRequests;
  readonly #ended = Promise.withResolvers<Error | undefined>();
  // From 1: servers built on the TypeScript SDK ignore a cancel for request 0.
  #nextId = 1;
  #heard = 0;
  #open = true;
  #endError: Error | undefined;

  constructor(transport: Transport, handlers: PeerHandlers, limits: PeerLimits) {
    this.#transport = transport;
    this.#handlers = handlers;
    this.#limits = limits;
    this.#far = new FarRequests({
      request: handlers.request,
      warning: handlers.warning,
      send: (message, failed) => this.#send(message, failed),
    });
  }

  /** Resolves when the connection has ended, with why if `close` was not called. */
  get closed(): Promise<Error | undefined> {
    return this.#ended.promise;
  }

  /** How many messages have come. */
  get heard(): number {
    return this.#heard;
  }

  /** Opens the transport. Rejects as it does. */
  start(options: { readonly signal: AbortSignal }): Promise<void> {
    const events: TransportEvents = {
      message: (message, answering) => this.#receive(message, answering),
      unreadable: (error, answered) => this.#unreadable(error, answered),
      gap: () => this.#open && this.#handlers.gap(),
      warning: (text) => this.#open && this.#handlers.warning(text),
      closed: (error) => this.#end(error),
    };
    return this.#transport.start(events, options);
  }

  /**
   * Sends a request and gives its result as it came.
   *
   * @throws RpcError for an error answered, ConnectionLostError, ToolkitError `LIMIT_EXCEEDED` for an answer beyond a limit, whatever
   *   the transport throws, or Cancelled
   */
  request(method: string, params: object | undefined, options: RequestOptions = {}): Promise<unknown> {
    const { cancellation, onProgress, context, maxNestingDepth = this.#limits.maxNestingDepth } = options;
    return new Promise((resolve, reject) => {
      if (!this.#open) return reject(this.#lostError(false));
      const id = this.#nextId++;
      const pending: Pending = {
        resolve,
        reject,
        onProgress,
        cancellation,
        onCut: undefined,
        context,
        maxNestingDepth,
      };
      this.#pending.set(id, pending);
      if (cancellation !== undefined) {
        let sent = false;
        pending.onCut = (reason) => this.#cancel(id, reason, sent);
        cancellation.onAbort(pending.onCut);
        // Cancelled before it began.
        if (!this.#pending.has(id)) return;
        sent = true;
      }
      this.#send(
        { jsonrpc: "2.0", id, method, params: onProgress === undefined ? params : withToken(params, id) },
        (error) => this.#take(id)?.reject(error),
        callStateOf(context) ?? context,
      );
    });
  }

  /** Sends a notification. Where it cannot be delivered there is nobody to tell. */
  notify(method: string, params?: object): Promise<void> {
    return new Promise((resolve, reject) => {
      const sending = this.#send({ jsonrpc: "2.0", method, params }, reject);
      if (sending === undefined) resolve();
      else sending.then(resolve, reject);
    });
  }

  /** Ends the connection. Requests in flight are lost. Idempotent. */
  async close(): Promise<void> {
    this.#end(undefined);
    await this.#transport.close();
  }

  #send(message: RpcMessage, failed: (error: unknown) => void, caller?: Caller): Promise<void> | undefined {
    try {
      const sending = this.#transport.send(message, caller);
      sending?.catch(failed);
      return sending;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  #receive(message: RpcMessage, answering: RequestId | undefined): void {
    if (!this.#open) return;
    this.#heard += 1;
    const { id, method } = message;
    if (typeof method === "string") {
      if (isNestedDeeper(message.params, this.#limits.maxNestingDepth)) this.#refuse(id, method);
      else if (id === undefined || id === null) this.#notified(method, message.params);
      else void this.#far.answer(id, method, fieldsOf(message.params), this.#contextOf(answering));
      return;
    }
    // Some servers give the id back as text.
    const pending = id === undefined || id === null ? undefined : this.#take(typeof id === "string" ? Number(id) : id);
    if (pending !== undefined) settle(pending, message);
    else if (message.error !== undefined && (id === undefined || id === null)) {
      this.#handlers.warning(`It reported an error for no request: ${new RpcError(message.error).message}`);
    }
    // What answers no request is the late answer to a cancelled one.
  }

  /** Something the far side says or asks is beyond a limit. */
  #refuse(id: RpcMessage["id"], method: string): void {
    const { message } = tooDeep(this.#limits.maxNestingDepth);
    this.#handlers.warning(`Its ${method} is left out: ${message}`);
    if (id !== undefined && id !== null) this.#far.refuse(id, method, message);
  }

  #contextOf(answering: RequestId | undefined): CallContext | undefined {
    return answering === undefined ? undefined : this.#pending.get(answering)?.context;
  }

  #unreadable(error: Error, answered: RequestId | undefined): void {
    if (!this.#open) return;
    this.#heard += 1;
    const pending = answered === undefined ? undefined : this.#take(Number(answered));
    if (pending !== undefined) pending.reject(error);
    else this.#handlers.warning(`It sent what cannot be read. ${error.message}`);
  }

  #notified(method: string, params: unknown): void {
    const fields = fieldsOf(params);
    if (method === "notifications/progress") this.#progressed(fields);
    else if (method === "notifications/cancelled") this.#far.cancel(fields.requestId, fields.reason);
    else this.#handlers.notification(method, fields);
  }

  #progressed(params: Fields): void {
    const { progressToken, progress, total, message } = params;
    if (typeof progress !== "number") return;
    const token = typeof progressToken === "string" ? Number(progressToken) : progressToken;
    // What answers no request is the late word of one that is over.
    this.#pending.get(token as RequestId)?.onProgress?.({
      progress,
      total: typeof total === "number" ? total : undefined,
      message: typeof message === "string" ? message : undefined,
    });
  }

  #cancel(id: RequestId, reason: unknown, sent: boolean): void {
    const pending = this.#take(id);
    if (pending === undefined) return;
    pending.reject(new Cancelled(reason));
    if (!sent) return;
    // Whether the far side hears of it changes nothing for the caller.
    const told = this.notify("notifications/cancelled", { requestId: id, reason: textOf(reason) });
    const forget = () => this.#transport.forget?.(id);
    told.then(forget, forget);
  }

  #take(id: RequestId): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    this.#pending.delete(id);
    if (pending.onCut !== undefined) pending.cancellation?.offAbort(pending.onCut);
    return pending;
  }

  #end(error: Error | undefined): void {
    if (!this.#open) return;
    this.#open = false;
    this.#endError = error;
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(this.#lostError(true));
    this.#far.end(this.#lostError(true));
    this.#ended.resolve(error);
  }

  #lostError(sent: boolean): Error {
    const error = this.#endError;
    const why = error === undefined ? "the connection was closed" : error.message;
    return new ConnectionLostError(why, { sent, cause: error });
  }
}

function fieldsOf(params: unknown): Fields {
  return isRecord(params) ? params : noParams;
}

function withToken(params: object | undefined, id: RequestId): object {
  const meta = (params as { _meta?: object } | undefined)?._meta;
  return { ...params, _meta: meta === undefined ? { progressToken: id } : { ...meta, progressToken: id } };
}

function settle(pending: Pending, message: RpcMessage): void {
  if (isNestedDeeper(message.error ?? message.result, pending.maxNestingDepth)) {
    pending.reject(tooDeep(pending.maxNestingDepth));
  } else if (message.error !== undefined) pending.reject(new RpcError(isRecord(message.error) ? message.error : {}));
  else if (message.result !== undefined) pending.resolve(message.result);
  else pending.reject(new RpcError({ message: "It answered with neither a result nor an error." }));
}
