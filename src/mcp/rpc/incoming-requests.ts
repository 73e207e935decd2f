import type { CallContext } from "../../core/item.ts";
import { RpcError, rpcCodes } from "./rpc-error.ts";
import type { RpcErrorObject, RpcId, RpcMessage } from "./rpc-message.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A request of the far side. */
export interface IncomingRequest {
  readonly id: RpcId;
  /** Aborts when the server cancels it, or the connection ends. */
  readonly signal: AbortSignal;
  /** The call in answer to which it came, where the transport tells. */
  readonly context: CallContext | undefined;
}

/** The handler of incoming requests, and the way of their answers. */
export interface IncomingRequestsHost {
  /** Answers a request; undefined where there is no such method. An error it throws is one for the server. */
  request(method: string, params: Fields, request: IncomingRequest): Promise<Fields> | Fields | undefined;
  /** Sends an answer. Undefined means it was handed over at once. */
  send(message: RpcMessage, failed: (error: unknown) => void): Promise<void> | undefined;
  warning(text: string): void;
  /** So many requests that belong to no call are worked on at once. Default 100. */
  readonly maxRequests?: number | undefined;
}

type Answer = { readonly result: Fields } | { readonly error: RpcErrorObject };

const defaultRequests = 100;
/** So many in all. Each call may have a person asked, who takes minutes: callers of one server share no small number. */
const maxWorking = 2_000;
/** So many answers wait until the server takes them. */
const maxUnsent = 1_000;

/** The requests of a server, each with its answer. A server that sends them without end takes no more than its share. */
export class IncomingRequests {
  readonly #host: IncomingRequestsHost;
  readonly #working = new Map<RpcId, AbortController>();
  /** Of those that are worked on the number that belongs to no call. */
  #unowned = 0;
  #unsent = 0;
  #ended = false;

  constructor(host: IncomingRequestsHost) {
    this.#host = host;
  }

  /** Works on a request, and answers it unless it was cancelled meanwhile (the specification says so). */
  async answer(id: RpcId, method: string, params: Fields, context: CallContext | undefined): Promise<void> {
    if (this.#unsent >= maxUnsent) return this.#leaveOut(method);
    const answer = await this.#work(id, method, params, context);
    if (answer !== undefined && !this.#ended) this.#send(id, method, answer);
  }

  /** Rejects a request unhandled. */
  reject(id: RpcId, method: string, why: string): void {
    this.#send(id, method, failed(rpcCodes.invalidParams, why));
  }

  /** The server wants no answer any more. */
  cancel(id: unknown, reason: unknown): void {
    this.#working.get(id as RpcId)?.abort(reason);
  }

  /** The connection has ended. */
  end(reason: Error): void {
    this.#ended = true;
    for (const request of this.#working.values()) request.abort(reason);
  }

  async #work(
    id: RpcId,
    method: string,
    params: Fields,
    context: CallContext | undefined,
  ): Promise<Answer | undefined> {
    if (method === "ping") return { result: {} };
    // It would take the place of the other, which then could be neither cancelled nor ended.
    if (this.#working.has(id)) return failed(rpcCodes.invalidRequest, "A request with this id is being worked on.");
    const { maxRequests = defaultRequests } = this.#host;
    const isFull = context === undefined ? this.#unowned >= maxRequests : this.#working.size >= maxWorking;
    if (isFull) {
      const most = context === undefined ? maxRequests : maxWorking;
      return failed(rpcCodes.internalError, `Too many requests at once: ${most} are being worked on.`);
    }
    const controller = new AbortController();
    const { signal } = controller;
    this.#working.set(id, controller);
    if (context === undefined) this.#unowned += 1;
    try {
      const result = await this.#host.request(method, params, { id, signal, context });
      if (signal.aborted) return undefined;
      return result === undefined ? failed(rpcCodes.methodNotFound, `Method not found: ${method}`) : { result };
    } catch (error) {
      if (signal.aborted) return undefined;
      if (error instanceof RpcError) return failed(error.code, error.message, error.data);
      // The reason is for the operator alone, and reported where it failed: a warning reaches every caller.
      this.#host.warning(`Its request ${method} failed here.`);
      return failed(rpcCodes.internalError, `The client failed to work on ${method}.`);
    } finally {
      this.#working.delete(id);
      if (context === undefined) this.#unowned -= 1;
    }
  }

  #send(id: RpcId, method: string, answer: Answer): void {
    // Of those that came at once more may have got so far.
    if (this.#unsent >= maxUnsent) {
      this.#leaveOut(method);
      return;
    }
    this.#unsent += 1;
    const sent = () => {
      this.#unsent -= 1;
    };
    const sending = this.#host.send({ jsonrpc: "2.0", id, ...answer }, (error) =>
      this.#host.warning(`Its request ${method} could not be answered: ${String(error)}`),
    );
    if (sending === undefined) sent();
    else sending.then(sent, sent);
  }

  #leaveOut(method: string): void {
    this.#host.warning(`It sends requests faster than it reads answers: its request ${method} is left out.`);
  }
}

function failed(code: number, message: string, data?: unknown): { readonly error: RpcErrorObject } {
  return { error: data === undefined ? { code, message } : { code, message, data } };
}

/** An error, or the reason of a cancellation, in words. */
export function textOf(reason: unknown): string {
  return reason instanceof Error ? reason.message || reason.name : String(reason);
}
