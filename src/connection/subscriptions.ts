import type { ConnectorSession } from "../core/connector.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Unsubscribe } from "../core/source.ts";
import { abortable } from "../lib/promise.ts";
import type { ConnectionLog } from "./connection-log.ts";
import type { RemoteLink } from "./remote-items.ts";

/** The parts of a connection that its subscriptions work with. */
export interface SubscriptionsHost {
  readonly link: RemoteLink;
  readonly log: ConnectionLog;
  /** Emits that the content of a resource changed, or may have. */
  updated(uri: string): void;
}

/** Time limit of the end of a subscription, in milliseconds. */
const unsubscribeMs = 5_000;

interface Subscription {
  subscribers: number;
  /** A server has accepted it: from then on it is made in each new session. */
  isActive: boolean;
  /** The first request of it, while that is not answered. */
  pending: PendingSubscription | undefined;
}

interface PendingSubscription {
  readonly session: ConnectorSession;
  readonly done: Promise<void>;
  /** Aborts it when the last subscriber is gone. */
  readonly stop: AbortController;
}

/** The resources whose changes are subscribed to. A session forgets them when it ends: they are made again in the next one. */
export class Subscriptions {
  readonly #host: SubscriptionsHost;
  readonly #byUri = new Map<string, Subscription>();
  /** The ends that the server has not answered yet. They settle and never reject. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(host: SubscriptionsHost) {
    this.#host = host;
  }

  /**
   * Subscribes to the changes of a resource until the returned function is called; the server gets one request for all subscribers.
   *
   * @throws ToolkitError `REMOTE_ERROR` where the server cannot, or whatever it answers
   */
  async add(uri: string, options: ReadOptions): Promise<Unsubscribe> {
    const subscription = this.#byUri.get(uri) ?? { subscribers: 0, isActive: false, pending: undefined };
    subscription.subscribers += 1;
    this.#byUri.set(uri, subscription);
    try {
      // Each waits as long as its own caller does, and its abort ends no other.
      const send = (session: ConnectorSession) => abortable(this.#begin(uri, subscription, session), options.signal);
      if (!subscription.isActive) await this.#host.link.requests.send({ options, lost: "UNAVAILABLE", send });
      // A caller that has given up will not call the function that ends it.
      options.signal?.throwIfAborted();
    } catch (error) {
      if (this.#leave(uri, subscription)) this.#giveUp(uri, subscription);
      throw error;
    }
    let isSubscribed = true;
    return async () => {
      if (!isSubscribed) return;
      isSubscribed = false;
      if (this.#leave(uri, subscription)) await this.#end(uri);
    };
  }

  /** A session has begun: all are made again in it. Changes before that are not known, so each resource may have changed. */
  renew(session: ConnectorSession): void {
    const { link, log } = this.#host;
    for (const uri of this.#active()) {
      subscribe(session, uri, { link }).catch((error) => {
        // In the session after one that has ended they are made again.
        if (link.requests.session !== session) return;
        log.warn(`The subscription to ${uri} could not be renewed: ${messageOf(error)}`);
      });
    }
    this.missed();
  }

  /** Emits that a resource changed. */
  updated(uri: string): void {
    this.#host.updated(uri);
  }

  /** Notifications may be lost: each resource may have changed. */
  missed(): void {
    for (const uri of this.#active()) this.#host.updated(uri);
  }

  #active(): readonly string[] {
    return [...this.#byUri].flatMap(([uri, { isActive }]) => (isActive ? [uri] : []));
  }

  /** Makes the first request of it in a session, once for all subscribers. */
  #begin(uri: string, subscription: Subscription, session: ConnectorSession): Promise<void> {
    if (subscription.isActive) return Promise.resolve();
    if (subscription.pending?.session === session) return subscription.pending.done;
    const stop = new AbortController();
    const request = () => subscribe(session, uri, { link: this.#host.link, signal: stop.signal });
    // Over HTTP the end of an earlier subscription could arrive after this one.
    const done = (this.#ending.get(uri)?.then(request) ?? request()).then(
      () => {
        subscription.isActive = true;
        subscription.pending = undefined;
      },
      (error: unknown) => {
        subscription.pending = undefined;
        throw error;
      },
    );
    subscription.pending = { session, done, stop };
    return done;
  }

  /** The last subscriber has given up. The server may have accepted the subscription all the same. */
  #giveUp(uri: string, { isActive, pending }: Subscription): void {
    pending?.stop.abort(new Error("Its last subscriber has given up."));
    if (isActive || pending !== undefined) this.#end(uri).catch(() => undefined);
  }

  /** Takes a subscriber away. True where it was the last. */
  #leave(uri: string, subscription: Subscription): boolean {
    subscription.subscribers -= 1;
    if (subscription.subscribers > 0 || this.#byUri.get(uri) !== subscription) return false;
    return this.#byUri.delete(uri);
  }

  #end(uri: string): Promise<void> {
    const ended = this.#unsubscribe(uri);
    const ending = ended
      .catch(() => undefined)
      .then(() => {
        if (this.#ending.get(uri) === ending) this.#ending.delete(uri);
      });
    this.#ending.set(uri, ending);
    return ended;
  }

  async #unsubscribe(uri: string): Promise<void> {
    // Without a session there is nothing to end.
    try {
      await this.#host.link.requests.session?.unsubscribe?.(uri, { signal: AbortSignal.timeout(unsubscribeMs) });
    } catch (error) {
      // A server that does not answer must not delay the next subscriber. Updates that it still sends are emitted.
      const isUnanswered = error instanceof DOMException && error.name === "TimeoutError";
      if (!isUnanswered && !ToolkitError.is(error, "UNAVAILABLE")) throw error;
    }
  }
}

function subscribe(
  session: ConnectorSession,
  uri: string,
  { link: { label }, signal }: { readonly link: RemoteLink; readonly signal?: AbortSignal },
): Promise<void> {
  if (session.subscribe !== undefined) return session.subscribe(uri, { signal });
  const message = `${label} does not say when a resource changes: its server has no subscriptions. Read ${uri} again when you need it.`;
  return Promise.reject(new ToolkitError("REMOTE_ERROR", message, { server: label }));
}
