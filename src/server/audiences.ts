import { randomUUID } from "node:crypto";
import type { ToolkitEvent } from "../core/event.ts";
import type { Host } from "../core/host.ts";
import { userNamespace } from "../core/identifier.ts";
import type { Kind } from "../core/item.ts";
import type { Session } from "../core/session.ts";
import { canonicalJson } from "../lib/canonical.ts";
import { present } from "../lib/value.ts";
import type { ViewSelection } from "../toolkit/view-filter.ts";
import type { ReadServeOptions, ServableHost } from "./serve-options.ts";
import { ServedCatalog } from "./served-catalog.ts";

/** A change that sessions may be notified of: lists of kinds, or the content of the resource with the ref. */
export type ServedChange =
  | { readonly kinds: readonly Kind[]; readonly ref?: undefined }
  | { readonly ref: string; readonly kinds?: undefined };

/** The events that change what sessions see. */
const followed = ["toolListChanged", "promptListChanged", "resourceListChanged", "resourceUpdated"] as const;

/** Sessions that see the same: those of one principal with one selection. They share lists and one listener. */
export class Audience {
  readonly host: Host;
  readonly catalog: ServedCatalog;
  readonly #listeners = new Set<(change: ServedChange) => void>();
  readonly #principal: string | undefined;
  readonly #unlisten: readonly (() => void)[];

  constructor(host: Host, principal: string | undefined, options: ReadServeOptions) {
    this.host = host;
    this.#principal = principal;
    this.catalog = new ServedCatalog(host, { id: randomUUID(), principal }, options);
    // Those of calls are not made while they have no listener, and each audience would be one.
    this.#unlisten = followed.map((type) => host.on(type, (event) => this.#received(event)));
  }

  get isIdle(): boolean {
    return this.#listeners.size === 0;
  }

  /** Calls back at each change until the returned function is called. */
  listen(listener: (change: ServedChange) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  end(): void {
    for (const unlisten of this.#unlisten) unlisten();
    this.#listeners.clear();
  }

  #received(event: ToolkitEvent): void {
    const owner = "principal" in event ? event.principal : undefined;
    const isOwned = "namespace" in event && event.namespace === userNamespace;
    if (isOwned && (owner ?? "") !== (this.#principal ?? "")) return;
    const kinds = this.catalog.changed(event);
    if (kinds.length > 0) this.#report({ kinds });
    if (event.type === "resourceUpdated") this.#report({ ref: `${event.uri}#${event.namespace}` });
  }

  #report(change: ServedChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** So many audiences without a session are kept, for those that come back and for clients without sessions. */
const maxIdle = 1_000;

/** The audiences of a served host. */
export class Audiences {
  readonly #host: ServableHost;
  readonly #options: ReadServeOptions;
  /** The least recently used first. */
  readonly #byKey = new Map<string, Audience>();

  constructor(host: ServableHost, options: ReadServeOptions) {
    this.#host = host;
    this.#options = options;
  }

  /** The audience of a session. @throws ToolkitError `INVALID_CONFIG` for a selection that is none; whatever `selection` throws */
  async of(session: Session): Promise<Audience> {
    const { principal } = session;
    const selection = await this.#options.selection?.(session);
    const key = canonicalJson([principal ?? null, selection ?? null]);
    const known = this.#byKey.get(key);
    if (known !== undefined) {
      this.#byKey.delete(key);
      this.#byKey.set(key, known);
      return known;
    }
    const made = new Audience(this.#hostFor(principal, selection), principal, this.#options);
    this.#byKey.set(key, made);
    this.#evict();
    return made;
  }

  end(): void {
    for (const audience of this.#byKey.values()) audience.end();
    this.#byKey.clear();
  }

  #hostFor(principal: string | undefined, selection: ViewSelection | undefined): Host {
    const host = this.#host;
    if (host.view === undefined || (selection === undefined && principal === undefined)) return host;
    return host.view({ ...selection, ...present({ principal }) });
  }

  #evict(): void {
    if (this.#byKey.size <= maxIdle) return;
    for (const [key, audience] of this.#byKey) {
      if (!audience.isIdle) continue;
      audience.end();
      this.#byKey.delete(key);
      if (this.#byKey.size <= maxIdle) return;
    }
  }
}
