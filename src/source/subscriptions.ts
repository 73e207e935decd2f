import type { ConnectorSession } from "../core/connector.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import type { ReadOptions } from "../core/resource.ts";
import type { Unsubscribe } from "../core/source.ts";
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

interface Subscription {
  /** How many want it. */
  wanted: number;
  /** Settles when the server was told the first time. */
  readonly begun: Promise<void>;
  /** It was: from then on each session is told. */
  told: boolean;
}

/** The resources whose changes somebody wants to hear of. A session forgets them when it ends: the next one is told again. */
export class Subscriptions {
  readonly #host: SubscriptionsHost;
  readonly #byUri = new Map<string, Subscription>();

  constructor(host: SubscriptionsHost) {
    this.#host = host;
  }

  /**
   * Has the server say when a resource changes, until the returned function is called; the server is told once, however many want it.
   *
   * @throws ToolkitError `REMOTE_ERROR` where the server cannot, or whatever it answers
   */
  async add(uri: string, options: ReadOptions): Promise<Unsubscribe> {
    const { link } = this.#host;
    const known = this.#byUri.get(uri);
    const subscription: Subscription = known ?? {
      wanted: 0,
      told: false,
      begun: link.use({ options, lost: "UNAVAILABLE", send: (session) => tell(session, uri, link) }),
    };
    subscription.wanted += 1;
    this.#byUri.set(uri, subscription);
    try {
      await subscription.begun;
      subscription.told = true;
    } catch (error) {
      this.#drop(uri, subscription);
      throw error;
    }
    let wanted = true;
    return async () => {
      if (!wanted) return;
      wanted = false;
      if (this.#drop(uri, subscription)) await this.#end(uri);
    };
  }

  /** A session has begun: it is told of all. What changed before it began is not known, so all may have. */
  renew(session: ConnectorSession): void {
    const { link, warn } = this.#host;
    for (const [uri, { told }] of this.#byUri) {
      if (!told) continue;
      tell(session, uri, link).catch((error) => {
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

  async #end(uri: string): Promise<void> {
    // Where there is no session there is nothing to end.
    try {
      await this.#host.session()?.unsubscribe?.(uri, {});
    } catch (error) {
      if (!ToolkitError.is(error, "UNAVAILABLE")) throw error;
    }
  }
}

function tell(session: ConnectorSession, uri: string, { label }: RemoteLink): Promise<void> {
  if (session.subscribe !== undefined) return session.subscribe(uri, {});
  const message = `${label} does not say when a resource changes: its server has no subscriptions. Read ${uri} again when you need it.`;
  return Promise.reject(new ToolkitError("REMOTE_ERROR", message, { server: label }));
}
