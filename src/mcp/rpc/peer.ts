import { callStateOf } from "../../call/call-port.ts";
import type { CallContext } from "../../core/item.ts";
import type { Progress } from "../../core/session.ts";
import { isRecord } from "../../lib/value.ts";
import type { RequestOwner, Transport, TransportEvents } from "../transport/transport.ts";
import { type Cancellation, Cancelled } from "./cancellation.ts";
import { IncomingRequests, type IncomingRequestsHost, textOf } from "./incoming-requests.ts";
import type { PeerLimits, RequestOptions } from "./request-options.ts";
import { ConnectionLostError, messageFault, RpcError } from "./rpc-error.ts";
import type { RpcId, RpcMessage } from "./rpc-message.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The handlers of messages that are no answers. None of these throws. */
export interface PeerHandlers extends Pick<IncomingRequestsHost, "request" | "warning"> {
  /** With the call in answer to which it came, where the transport tells. */
  notification(method: string, params: Fields, context: CallContext | undefined): void;
  gap(): void;
}

interface Pending {
  resolve(result: unknown): void;
  reject(error: unknown): void;
  onProgress: ((progress: Progress) => void) | undefined;
  onNotification: RequestOptions["onNotification"];
  cancellation: Cancellation | undefined;
  onAbort: ((reason: unknown) => void) | undefined;
  /** Undefined where the caller checks the result. */
  readonly maxNestingDepth: number | undefined;
  context: CallContext | undefined;
}

/** The field of `_meta` by which a notification names the request that subscribed to it. */
const subscriptionKey = "io.modelcontextprotocol/subscriptionId";

/**
 * One end of a JSON-RPC connection: matches answers with requests, and passes on every other message.
 *
 * It does the work of the SDK's `Protocol` class in the way a supervised connector needs it: every message is handled in the order
 * it came (so the last progress is reported before its result), one abort listener a request which goes with it, one cancel a
 * request, results as they came, and for a lost request whether it was sent.
 */
export class Peer {
  readonly #transport: Transport;
  readonly #handlers: PeerHandlers;
  readonly #limits: PeerLimits;
  readonly #pending = new Map<RpcId, Pending>();
  readonly #incoming: IncomingRequests;
  readonly #ended = Promise.withResolvers<Error | undefined>();
  readonly #toId: (id: RpcId) => RpcId;
  // From 1: servers built on the TypeScript SDK ignore a cancel for request 0.
  #nextId = 1;
  #received = 0;
  #open = true;
  #serves = true;
  #endError: Error | undefined;

  constructor(transport: Transport, handlers: PeerHandlers, limits: PeerLimits) {
    this.#transport = transport;
    this.#handlers = handlers;
    this.#limits = limits;
    // Small servers read numbers. In memory there is a library, and its validators try a text first.
    this.#toId = transport.sharesObjects === true ? String : Number;
    this.#incoming = new IncomingRequests({
      request: handlers.request,
      warning: handlers.warning,
      maxRequests: limits.maxRequests,
      send: (message, failed) => this.#send(message, failed),
    });
  }

  /** Resolves when the connection has ended, with why if `close` was not called. */
  get closed(): Promise<Error | undefined> {
    return this.#ended.promise;
  }

  get isClosed(): boolean {
    return !this.#open;
  }

  /** The number of messages that have come. */
  get received(): number {
    return this.#received;
  }

  /** From now on requests of the server are left out, as the revision that both speak has none, and what it cancels is a subscription. */
  serveNothing(): void {
    this.#serves = false;
  }

  /** Opens the transport. Rejects as it does. */
  start(options: { readonly signal: AbortSignal }): Promise<void> {
    const events: TransportEvents = {
      message: this.#receive,
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
    const { cancellation, onProgress, onNotification, context, owner, isUnchecked } = options;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    if (!this.#open) {
      reject(this.#lostError(false));
      return promise;
    }
    const id = this.#toId(this.#nextId++);
    const pending: Pending = {
      resolve,
      reject,
      onProgress,
      onNotification,
      cancellation,
      onAbort: undefined,
      context,
      maxNestingDepth: isUnchecked === true ? undefined : this.#limits.maxNestingDepth,
    };
    this.#pending.set(id, pending);
    if (cancellation !== undefined) {
      let sent = false;
      pending.onAbort = (reason) => this.#cancel(id, reason, sent, owner);
      cancellation.onAbort(pending.onAbort, this.#transport.sharesObjects);
      // Cancelled before it began.
      if (!this.#pending.has(id)) return promise;
      sent = true;
    }
    this.#send(
      { jsonrpc: "2.0", id, method, params: onProgress === undefined ? params : withToken(params, String(id)) },
      (error) => this.#take(id)?.reject(error),
      owner ?? callStateOf(context) ?? context,
    );
    return promise;
  }

  /** Sends a notification, on behalf of an owner where it has one. @throws whatever the transport throws */
  notify(method: string, params?: object, owner?: RequestOwner): Promise<void> {
    return new Promise((resolve, reject) => {
      const sending = this.#send({ jsonrpc: "2.0", method, params }, reject, owner);
      if (sending === undefined) resolve();
      else sending.then(resolve, reject);
    });
  }

  /** Ends the connection. Requests in flight are lost. Idempotent. */
  async close(): Promise<void> {
    this.#end(undefined);
    await this.#transport.close();
  }

  /** Ends the connection for a reason of its own. */
  async abandon(error: Error): Promise<void> {
    this.#end(error);
    await this.#transport.close();
  }

  #send(message: RpcMessage, failed: (error: unknown) => void, owner?: RequestOwner): Promise<void> | undefined {
    try {
      const sending = this.#transport.send(message, owner);
      sending?.catch(failed);
      return sending;
    } catch (error) {
      failed(error);
      return undefined;
    }
  }

  readonly #receive = (message: RpcMessage, answering?: RpcId): void => {
    if (!this.#open) return;
    this.#received += 1;
    const { id, method } = message;
    if (typeof method === "string") {
      const fault = messageFault(message.params, this.#limits.maxNestingDepth);
      if (fault !== undefined) this.#reject(id, method, fault);
      else if (id === undefined || id === null) this.#notified(method, fieldsOf(message.params), answering);
      else if (!this.#serves) this.#handlers.warning(`It sent a request, ${method}, which its revision does not have.`);
      else void this.#incoming.answer(id, method, fieldsOf(message.params), this.#contextOf(answering));
      return;
    }
    const pending = this.#take(this.#idOf(id));
    if (pending !== undefined) settle(pending, message);
    else if (message.error !== undefined && (id === undefined || id === null)) {
      this.#handlers.warning(`It reported an error for no request: ${new RpcError(message.error).message}`);
    }
    // An answer to no request is the late answer to a cancelled one.
  };

  /** Leaves out a message that is beyond a limit. */
  #reject(id: RpcMessage["id"], method: string, { message }: Error): void {
    this.#handlers.warning(`Its ${method} is left out: ${message}`);
    if (this.#serves && id !== undefined && id !== null) this.#incoming.reject(id, method, message);
  }

  #contextOf(answering: RpcId | undefined): CallContext | undefined {
    return answering === undefined ? undefined : this.#pending.get(answering)?.context;
  }

  #unreadable(error: Error, answered: RpcId | undefined): void {
    if (!this.#open) return;
    this.#received += 1;
    const pending = this.#take(this.#idOf(answered));
    if (pending !== undefined) pending.reject(error);
    else this.#handlers.warning(`It sent a message that cannot be read. ${error.message}`);
  }

  #notified(method: string, fields: Fields, answering: RpcId | undefined): void {
    if (method === "notifications/progress") this.#progressed(fields);
    else if (this.#serves && method === "notifications/cancelled")
      this.#incoming.cancel(fields.requestId, fields.reason);
    else if (!this.#passToSubscription(method, fields))
      this.#handlers.notification(method, fields, this.#contextOf(answering));
  }

  /** Passes on what belongs to a subscription; of one that has ended it is left out. */
  #passToSubscription(method: string, fields: Fields): boolean {
    const meta = fields._meta;
    const id = isRecord(meta) ? meta[subscriptionKey] : undefined;
    const about = id ?? (method === "notifications/cancelled" ? fields.requestId : undefined);
    if (about === undefined) return false;
    this.#pending.get(this.#idOf(about))?.onNotification?.(method, fields);
    return true;
  }

  #progressed(params: Fields): void {
    const { progressToken, progress, total, message } = params;
    if (typeof progress !== "number") return;
    // Progress of no request is that of one that is over.
    this.#pending.get(this.#idOf(progressToken))?.onProgress?.({
      progress,
      total: typeof total === "number" ? total : undefined,
      message: typeof message === "string" ? message : undefined,
    });
  }

  #cancel(id: RpcId, reason: unknown, sent: boolean, owner: RequestOwner | undefined): void {
    const pending = this.#take(id);
    if (pending === undefined) return;
    pending.reject(new Cancelled(reason));
    if (!sent) return;
    // Whether it reaches the server changes nothing for the caller.
    const notified = this.notify("notifications/cancelled", { requestId: id, reason: textOf(reason) }, owner);
    const forget = () => this.#transport.forget?.(id);
    notified.then(forget, forget);
  }

  /** The id by which a request is kept, of that by which the server names it: some give a number back as a text. 0 is that of none. */
  #idOf(given: unknown): RpcId {
    return typeof given === "number" || typeof given === "string" ? this.#toId(given) : 0;
  }

  #take(id: RpcId): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    this.#pending.delete(id);
    if (pending.onAbort !== undefined) pending.cancellation?.offAbort(pending.onAbort);
    return pending;
  }

  #end(error: Error | undefined): void {
    if (!this.#open) return;
    this.#open = false;
    this.#endError = error;
    for (const id of [...this.#pending.keys()]) this.#take(id)?.reject(this.#lostError(true));
    this.#incoming.end(this.#lostError(true));
    this.#ended.resolve(error);
  }

  #lostError(sent: boolean): Error {
    const cause = this.#endError;
    return new ConnectionLostError(cause?.message ?? "the connection was closed", { sent, cause });
  }
}

function fieldsOf(params: unknown): Fields {
  return isRecord(params) ? params : {};
}

/** With a token of progress, a text in all transports: servers give it back as it is, and validators try a text first. */
function withToken(params: object | undefined, progressToken: string): object {
  const meta = (params as { _meta?: object } | undefined)?._meta;
  return { ...params, _meta: meta === undefined ? { progressToken } : { ...meta, progressToken } };
}

function settle(pending: Pending, message: RpcMessage): void {
  const { maxNestingDepth } = pending;
  const fault =
    maxNestingDepth === undefined ? undefined : messageFault(message.error ?? message.result, maxNestingDepth);
  if (fault !== undefined) pending.reject(fault);
  else if (message.error !== undefined) pending.reject(new RpcError(isRecord(message.error) ? message.error : {}));
  else if (message.result !== undefined) pending.resolve(message.result);
  else pending.reject(new RpcError({ message: "It answered with neither a result nor an error." }));
}
