import type { Kind } from "../../core/item.ts";
import { isRecord } from "../../lib/value.ts";
import { SignalCancellation } from "../rpc/cancellation.ts";
import type { RequestOptions } from "../rpc/request-options.ts";
import { ConnectionLostError, RpcError, rpcCodes } from "../rpc/rpc-error.ts";
import { declaresChanges } from "../session-wire.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The requests and handlers of a stream of notifications. */
export interface ListenStreamParts {
  readonly capabilities: Fields;
  /** Asks for a stream. It settles when that ends. */
  request(params: Fields, options: RequestOptions): Promise<unknown>;
  notified(method: string, params: Fields): void;
  /** Notifications sent while there was no stream are lost. */
  gap(): void;
}

// Even a stream that broke is not asked for in a loop.
const reopenMs = 100;
const retryMs = 1_000;
const maxRetryMs = 60_000;
// The time it may take to open before a session begins without it.
const openMs = 1_000;
// A stream that held so long was closed for being idle, not for being unwanted.
const steadyMs = 10_000;

/** The fields of a filter, by kind. Templates change with resources. */
const filterFields: { readonly [K in Kind]: string } = {
  tool: "toolsListChanged",
  prompt: "promptsListChanged",
  resource: "resourcesListChanged",
  template: "resourcesListChanged",
};

/** One request for notifications, until it ends. */
class Listen {
  /** Resolves with what the server agrees to; rejects where it does not. */
  readonly acknowledged: Promise<Fields>;
  /** Resolves when it has ended. */
  readonly ended: Promise<void>;
  readonly since = performance.now();
  /** The part that the server agreed to. */
  filter: Fields = {};
  /** True where it ended otherwise than by an answer of the server. */
  isBroken = false;
  readonly #abort = new AbortController();

  constructor({ request, notified }: ListenStreamParts, filter: Fields) {
    const agreed = Promise.withResolvers<Fields>();
    const cut = Promise.withResolvers<void>();
    this.acknowledged = agreed.promise;
    const onNotification = (name: string, params: Fields) => {
      if (name === "notifications/cancelled") cut.resolve();
      else if (name !== "notifications/subscriptions/acknowledged") notified(name, params);
      else {
        this.filter = isRecord(params.notifications) ? params.notifications : {};
        agreed.resolve(this.filter);
      }
    };
    const cancellation = new SignalCancellation(this.#abort.signal);
    const answered = request({ notifications: filter }, { cancellation, onNotification }).then(
      () => agreed.reject(new ConnectionLostError("the server ended the subscription", { sent: true })),
      (error: unknown) => {
        this.isBroken = true;
        agreed.reject(error);
      },
    );
    this.ended = Promise.race([answered, cut.promise]);
    // Whether it was agreed to is of interest only to those who ask.
    agreed.promise.catch(() => {});
  }

  cancel(): void {
    this.#abort.abort(new Error("The subscription is not needed any more."));
  }
}

/**
 * The stream by which a server without sessions says what changes: of its lists, and of the resources that are followed. A change of
 * what is wanted is another stream in place of the one there is; a stream that ends is opened again, more and more slowly.
 *
 * @see https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/subscriptions
 */
export class ListenStream {
  readonly #parts: ListenStreamParts;
  readonly #kinds: readonly Kind[];
  readonly #uris = new Set<string>();
  #current: Listen | undefined;
  /** The stream that is being opened, and the one after that. */
  #opening: Promise<Listen | undefined> | undefined;
  #next: Promise<Listen | undefined> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;
  #hasGap = false;
  #isOver = false;

  constructor(parts: ListenStreamParts) {
    this.#parts = parts;
    this.#kinds = (Object.keys(filterFields) as Kind[]).filter((kind) => declaresChanges(parts.capabilities, kind));
  }

  /** Resolves when it is open, or there is none, or it takes too long: then its opening is a gap. */
  async open(): Promise<void> {
    if (this.#kinds.length === 0) return;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#hasGap = true;
      late.resolve();
    }, openMs);
    await Promise.race([this.#change().catch(() => {}), late.promise]);
    clearTimeout(timer);
  }

  /** True where changes of the list of a kind are announced now. */
  announces(kind: Kind): boolean {
    return this.#current?.filter[filterFields[kind]] === true;
  }

  /** Begins or ends a subscription to a resource. @throws RpcError where the server does not agree; whatever a request throws */
  async follow(uri: string, isWanted: boolean): Promise<void> {
    if (isWanted) this.#uris.add(uri);
    else if (!this.#uris.delete(uri)) return;
    try {
      const listen = await this.#change();
      const agreed = listen?.filter.resourceSubscriptions;
      if (!isWanted || (Array.isArray(agreed) && agreed.includes(uri))) return;
      throw new RpcError({ message: `The server agrees to no subscription to ${uri}.` });
    } catch (error) {
      this.#uris.delete(uri);
      throw error;
    }
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#current?.cancel();
  }

  /** Puts a stream for what is wanted now in place of the current one. Changes at the same time share one. */
  #change(): Promise<Listen | undefined> {
    if (this.#opening === undefined) return this.#begin();
    this.#next ??= this.#opening
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#begin();
      });
    return this.#next;
  }

  #begin(): Promise<Listen | undefined> {
    clearTimeout(this.#timer);
    this.#opening = this.#open().finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #open(): Promise<Listen | undefined> {
    const before = this.#current;
    const filter = this.#filter();
    if (filter === undefined || this.#isOver) {
      this.#current = undefined;
      before?.cancel();
      return undefined;
    }
    const listen = new Listen(this.#parts, filter);
    try {
      await listen.acknowledged;
    } catch (error) {
      if (before === undefined || before !== this.#current) this.#later(error);
      throw error;
    }
    if (this.#isOver) listen.cancel();
    this.#current = listen;
    before?.cancel();
    void listen.ended.then(() => this.#ended(listen));
    if (this.#hasGap) this.#parts.gap();
    this.#hasGap = false;
    return listen;
  }

  #filter(): Fields | undefined {
    const lists = this.#kinds.map((kind) => [filterFields[kind], true] as const);
    const uris = [...this.#uris];
    if (lists.length === 0 && uris.length === 0) return undefined;
    return { ...Object.fromEntries(lists), ...(uris.length === 0 ? {} : { resourceSubscriptions: uris }) };
  }

  #ended(listen: Listen): void {
    if (listen !== this.#current) return;
    this.#current = undefined;
    this.#hasGap = true;
    if (performance.now() - listen.since > steadyMs) this.#failures = 0;
    // A stream that broke may mean that the server is gone: look soon.
    this.#later(undefined, listen.isBroken && this.#failures === 0 ? reopenMs : undefined);
  }

  #later(error: unknown, waitMs = Math.min(maxRetryMs, retryMs * 2 ** this.#failures)): void {
    if (this.#isOver || (error instanceof RpcError && error.code === rpcCodes.methodNotFound)) return;
    this.#failures += 1;
    this.#timer = setTimeout(() => void this.#change().catch(() => {}), waitMs);
  }
}
