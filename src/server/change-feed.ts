import { messageOf } from "../core/error.ts";
import type { Kind } from "../core/item.ts";
import type { Session } from "../core/session.ts";
import type { Unsubscribe } from "../core/source.ts";
import { Coalescer } from "../lib/coalesce.ts";
import type { Audience, ServedChange } from "./audiences.ts";
import { findResource } from "./item-methods.ts";
import type { ReadServeOptions } from "./serve-options.ts";
import { invalidParams } from "./wire/error-form.ts";

/** The parts of a feed. */
export interface ChangeFeedParts {
  readonly audience: Audience;
  readonly options: ReadServeOptions;
  /** The lists whose changes the client wants. Default: all. */
  readonly kinds?: ReadonlySet<Kind> | undefined;
  notify(method: string, params?: Readonly<Record<string, unknown>>): void;
}

/** Changes that come within so many milliseconds are one notification. */
const burstMs = 10;
/** The most resources that one feed follows. */
export const maxSubscriptions = 1_000;
const updated = "notifications/resources/updated";

const listNotification = {
  tool: "notifications/tools/list_changed",
  prompt: "notifications/prompts/list_changed",
  resource: "notifications/resources/list_changed",
  template: "notifications/resources/list_changed",
} as const;

/** The changes of which one client is notified: of lists, and of the resources that it follows. A burst is one notification. */
export class ChangeFeed {
  readonly #parts: ChangeFeedParts;
  readonly #changes: Coalescer<string>;
  /** By the ref of the resource: the URI as the client gave it, and the end of the subscription. */
  readonly #subscriptions = new Map<string, { readonly uri: string; readonly end: Unsubscribe }>();
  readonly #unlisten: () => void;
  #isOver = false;

  constructor(parts: ChangeFeedParts) {
    const { audience, options } = parts;
    this.#parts = parts;
    this.#changes = new Coalescer((keys) => this.#report(keys), {
      delayMs: burstMs,
      clock: options.clock,
      onError: (error) => options.logger.warn(`A client was not notified: ${messageOf(error)}`),
    });
    this.#unlisten = audience.listen((change) => this.#changed(change));
  }

  /** The client may have missed notifications: it is to read everything again. */
  missed(): void {
    for (const method of Object.values(listNotification)) this.#changes.request(method);
    for (const ref of this.#subscriptions.keys()) this.#changes.request(`${updated} ${ref}`);
  }

  /** Follows a resource from now on. @throws ToolkitError, as of `lookup` and `subscribe`; RpcError for one too many */
  async follow(
    uri: string,
    { session, signal }: { readonly session: Session; readonly signal: AbortSignal },
  ): Promise<void> {
    const { host, catalog } = this.#parts.audience;
    if (this.#subscriptions.size >= maxSubscriptions)
      throw invalidParams(`There are ${maxSubscriptions} subscriptions already: end one first.`);
    const entry = await findResource(uri, { host, catalog, session, signal });
    if (this.#subscriptions.has(entry.ref)) return;
    const end = await host.subscribe(entry, { session, signal });
    if (this.#subscriptions.has(entry.ref) || this.#isOver) end();
    else this.#subscriptions.set(entry.ref, { uri, end });
  }

  unfollow(uri: string): void {
    for (const [ref, subscription] of this.#subscriptions) {
      if (subscription.uri !== uri) continue;
      this.#subscriptions.delete(ref);
      subscription.end();
    }
  }

  end(): void {
    this.#isOver = true;
    this.#unlisten();
    this.#changes.stop();
    for (const { end } of this.#subscriptions.values()) end();
    this.#subscriptions.clear();
  }

  #changed({ kinds, ref }: ServedChange): void {
    if (ref !== undefined) {
      if (this.#subscriptions.has(ref)) this.#changes.request(`${updated} ${ref}`);
      return;
    }
    const wanted = this.#parts.kinds;
    for (const kind of kinds) if (wanted?.has(kind) !== false) this.#changes.request(listNotification[kind]);
  }

  async #report(keys: ReadonlySet<string>): Promise<void> {
    for (const key of keys) {
      const [method = "", ref] = key.split(/ (.*)/s);
      const uri = ref === undefined ? undefined : this.#subscriptions.get(ref)?.uri;
      if (ref === undefined) this.#parts.notify(method);
      else if (uri !== undefined) this.#parts.notify(method, { uri });
    }
  }
}
