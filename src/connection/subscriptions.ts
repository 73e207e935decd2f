import type { ConnectorSession } from "../core/connector.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Unsubscribe } from "../core/source.ts";
import { abortable } from "../lib/promise.ts";
import type { RemoteLink } from "./remote-items.ts";

/** Whose subscriptions these are. */
export interface SubscriptionsHost {
  readonly link: RemoteLink;
  /** The session there is now. */
  session(): ConnectorSession | undefined;
  /** The content of a resource changed, or may have. */
  updated(uri: string): void;
  /** Told of what is not as it should be. */
  warn(message: string): void;
}

/** How long a server has to answer that it tells no longer. */
const unsubscribeMs = 5_000;

interface Subscription {
  /** How many want it. */
  wanted: number;
  /** A server was told of it: from then on each session is. */
  told: boolean;
  /** The session that is being told the first time. */
  telling: Telling | undefined;
}

interface Telling {
  readonly session: ConnectorSession;
  readonly done: Promise<void>;
  /** Nobody wants it any more. */
  readonly stop: AbortController;
}

/** The resources whose changes somebody wants to hear of. A session forgets them when it ends: the next one is told again. */
export class Subscriptions {
  readonly #host: SubscriptionsHost;
  readonly #byUri = new Map<string, Subscription>();
  /** Settles, and never rejects, when the server has heard that nobody wants it any more. */
  readonly #ending = new Map<string, Promise<void>>();

  constructor(host: SubscriptionsHost) {
    this.#host = host;
  }

  /**
   * Has the server say when a resource changes, until the returned function is called; the server is told once, however many want it.
   *
   * @throws ToolkitError `REMOTE_ERROR` where the server cannot, or whatever it answers
   */
  async add(uri: string, options: ReadOptions): Promise<Unsubscribe> {
    const subscription = this.#byUri.get(uri) ?? { wanted: 0, told: false, telling: undefined };
    subscription.wanted += 1;
    this.#byUri.set(uri, subscription);
    try {
      // Each waits as long as its own caller does, and takes nobody with it.
      const send = (session: ConnectorSession) => abortable(this.#begin(uri, subscription, session), options.signal);
      if (!subscription.told) await this.#host.link.use({ options, lost: "UNAVAILABLE", send });
      // Whoever has given up will not end it.
      options.signal?.throwIfAborted();
    } catch (error) {
      if (this.#drop(uri, subscription)) this.#giveUp(uri, subscription);
      throw error;
    }
    let wanted = true;
    return async () => {
      if (!wanted) return;
      wanted = false;
      if (this.#drop(uri, subscription)) await this.#end(uri);
    };
  }

  /** Tells a session the first time, once for all who want it. */
  #begin(uri: string, subscription: Subscription, session: ConnectorSession): Promise<void> {
    if (subscription.told) return Promise.resolve();
    if (subscription.telling?.session === session) return subscription.telling.done;
    const stop = new AbortController();
    const asked = () => tell(session, uri, { link: this.#host.link, signal: stop.signal });
    // Over HTTP the end of the one before could come after it.
    const done = (this.#ending.get(uri)?.then(asked) ?? asked()).then(
      () => {
        subscription.told = true;
        subscription.telling = undefined;
      },
      (error: unknown) => {
        subscription.telling = undefined;
        throw error;
      },
    );
    subscription.telling = { session, done, stop };
    return done;
  }

  /** The last who wanted it has given up. The server may have heard of it. */
  #giveUp(uri: string, { told, telling }: Subscription): void {
    telling?.stop.abort(new Error("Nobody wants it any more."));
    if (told || telling !== undefined) this.#end(uri).catch(() => undefined);
  }

  /** A session has begun: it is told of all. What changed before it began is not known, so all may have. */
  renew(session: ConnectorSession): void {
    const { link, warn } = this.#host;
    for (const [uri, { told }] of this.#byUri) {
      if (!told) continue;
      tell(session, uri, { link }).catch((error) => {
        // Of a session that has ended the next one is told.
        if (this.#host.session() === session) warn(`It is not told of changes of ${uri} any more: ${messageOf(error)}`);
      });
    }
    this.missed();
  }

  /** Something may have gone unheard. */
  missed(): void {
    for (const [uri, { told }] of this.#byUri) if (told) this.#host.updated(uri);
  }

  /** Somebody wants it no more. True where that was the last. */
  #drop(uri: string, subscription: Subscription): boolean {
    subscription.wanted -= 1;
    if (subscription.wanted > 0 || this.#byUri.get(uri) !== subscription) return false;
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
    // Where there is no session there is nothing to end.
    try {
      await this.#host.session()?.unsubscribe?.(uri, { signal: AbortSignal.timeout(unsubscribeMs) });
    } catch (error) {
      // A server that does not answer must hold up nobody who subscribes again: what it goes on to tell is told.
      const unanswered = error instanceof DOMException && error.name === "TimeoutError";
      if (!unanswered && !ToolkitError.is(error, "UNAVAILABLE")) throw error;
    }
  }
}

function tell(
  session: ConnectorSession,
  uri: string,
  { link: { label }, signal }: { readonly link: RemoteLink; readonly signal?: AbortSignal },
): Promise<void> {
  if (session.subscribe !== undefined) return session.subscribe(uri, { signal });
  const message = `${label} does not say when a resource changes: its server has no subscriptions. Read ${uri} again when you need it.`;
  return Promise.reject(new ToolkitError("REMOTE_ERROR", message, { server: label }));
}
