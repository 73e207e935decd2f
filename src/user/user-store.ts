import type { Namespace } from "../catalog/namespace.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { userNamespace } from "../core/identifier.ts";
import type { ListFailure } from "../core/item.ts";
import type { Content, ReadOptions } from "../core/resource.ts";
import type { Logger } from "../core/session.ts";
import type { Store } from "../core/store.ts";
import { backoffDelay } from "../lib/backoff.ts";
import type { Clock, Timer } from "../lib/clock.ts";
import { Coalescer } from "../lib/coalesce.ts";
import { FirstAttempt } from "../lib/first-attempt.ts";
import { abortable } from "../lib/promise.ts";
import { type Change, eventsOf, idOf, type UserCollection } from "./item-change.ts";
import { storedContent } from "./stored-resource.ts";
import { type ItemsHost, UserItems } from "./user-items.ts";

/** What the spaces of a toolkit share. */
export interface UserStoreHost extends Pick<ItemsHost, "catalog" | "emit"> {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** How long lookups wait for the items of an owner to be read, in milliseconds. */
  readonly startTimeoutMs: number;
  /** Why the store does not tell what others change, while it does not. */
  down(): ToolkitError | undefined;
  /** Whoever watches first and lists then misses nothing. */
  watch(): void;
  /** Has an owner stay in memory until the returned function is called. */
  keep(owner: string): () => void;
}

const burstMs = 10;
const retry = { baseMs: 1_000, maxMs: 30_000 };
/** Above so many changes at once all is listed. */
const maxSingle = 100;

/** What one owner has, in memory: read from the store when it is first asked for, and again whatever changes. */
export class UserStore {
  readonly owner: string;
  readonly namespace: Namespace;
  readonly items: UserItems;
  readonly #host: UserStoreHost;
  readonly #abort = new AbortController();
  readonly #settling = new FirstAttempt();
  readonly #refresh: Coalescer<string>;
  /** What others changed, and is not shown yet. */
  readonly #heard = new Map<string, Change>();
  /** The reading that is awaited, or runs. */
  #loading: Promise<void> | undefined;
  #isLoaded = false;
  #failure: ListFailure | undefined;
  #failures = 0;
  #retry: Timer | undefined;

  constructor(owner: string, host: UserStoreHost) {
    const { catalog, clock, logger, emit } = host;
    this.owner = owner;
    this.#host = host;
    this.namespace = catalog.makePersonal(userNamespace, {
      principal: this.#principal,
      settling: (start) => this.#settled(start),
      failures: () => [...(this.#failure === undefined ? [] : [this.#failure]), ...this.items.failures],
      // Of whatever is in memory changes are told unasked.
      subscribe: () => host.keep(owner),
    });
    const read = (uri: string, options: ReadOptions) => this.read(uri, options);
    this.items = new UserItems(this.namespace, { catalog, emit, now: () => clock.now(), read });
    this.#refresh = new Coalescer((ids) => this.#readAgain(ids), {
      delayMs: burstMs,
      clock,
      onError: (error) => logger.error(`The namespace user could not be read: ${messageOf(error)}`, { error }),
    });
  }

  /**
   * Resolves when all it has is in memory.
   *
   * @throws ToolkitError `STORE_FAILED`, `INVALID_INPUT` for an owner no store can keep; the reason of an aborted signal
   */
  async ready(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#isLoaded) return;
    await abortable(this.#loading ?? this.#load(), signal);
    if (!this.#isLoaded) throw this.#failure?.error ?? this.#abort.signal.reason;
  }

  /** Reads the content of a resource as it is now. @throws ToolkitError `NOT_FOUND`, `STORE_FAILED` */
  async read(key: string, { signal }: ReadOptions): Promise<Content> {
    const found = await this.#host.store.get({ collection: "resource", owner: this.owner, key }, { signal });
    if (found !== undefined) return storedContent(found);
    const message = `There is no resource ${JSON.stringify(key)} in user any more.`;
    throw new ToolkitError("NOT_FOUND", message, { key, suggestions: [] });
  }

  /** Hears that somebody changed something. */
  hear(change: Change): void {
    if (!this.#isLoaded && this.#loading === undefined) {
      this.#tell(change);
      return;
    }
    const id = idOf(change);
    if ((this.#heard.get(id)?.version ?? 0) >= change.version) return;
    this.#heard.set(id, change);
    if (this.#isLoaded) this.#refresh.request(id);
  }

  /** Reads all again where it was read before: something may have been missed. */
  reload(): void {
    if (this.#isLoaded || this.#failure !== undefined) void this.#load();
  }

  /** What is shown, where anything was asked for, may be old from now on, and this is why. */
  doubt(error: ToolkitError): void {
    if (this.#isLoaded || this.#failure !== undefined) this.#fail(error);
  }

  #fail(error: unknown): void {
    const why = ToolkitError.is(error)
      ? error
      : new ToolkitError(
          "STORE_FAILED",
          `The store failed: ${messageOf(error)}`,
          { operation: "list" },
          { cause: error },
        );
    const since = this.#failure?.since ?? this.#host.clock.now();
    this.#failure = { namespace: userNamespace, error: why, since };
    this.namespace.setStale(true);
  }

  close(): void {
    this.#abort.abort(new ToolkitError("CLOSED", "The toolkit is closed.", { what: "toolkit" }));
    this.#refresh.stop();
    this.#retry?.cancel();
    this.#settling.settle();
  }

  get #principal(): string | undefined {
    return this.owner === "" ? undefined : this.owner;
  }

  #settled(start: boolean): Promise<void> | undefined {
    if (start && this.#loading === undefined && this.#settling.pending !== undefined) void this.#load();
    return this.#settling.pending;
  }

  /** Reads everything, once what is being read has been. It never rejects. */
  #load(): Promise<void> {
    this.#retry?.cancel();
    const { clock, startTimeoutMs } = this.#host;
    if (this.#settling.pending !== undefined && this.#loading === undefined)
      this.#settling.limit(clock, startTimeoutMs, () => this.#fail(new Error(`no answer within ${startTimeoutMs} ms`)));
    const loading = (this.#loading ?? Promise.resolve()).then(() => this.#loadOnce());
    this.#loading = loading;
    return loading.finally(() => {
      if (this.#loading === loading) this.#loading = undefined;
    });
  }

  async #loadOnce(): Promise<void> {
    const { signal } = this.#abort;
    if (signal.aborted) return;
    try {
      this.#host.watch();
      const since = this.items.now;
      const lists = await Promise.all([this.#list("prompt"), this.#list("resource")]);
      // What was there before anybody asked is no news.
      const isNews = this.#isLoaded || this.#failure !== undefined;
      await this.items.takeLists(lists, since, isNews);
      if (signal.aborted) return;
      this.#isLoaded = true;
      this.#failures = 0;
      this.#goOn(isNews);
    } catch (error) {
      if (signal.aborted) return;
      this.#fail(error);
      if (!ToolkitError.is(error, "INVALID_INPUT") && !ToolkitError.is(error, "CLOSED")) this.#tryLater();
    }
    this.#settling.settle();
  }

  #list(collection: UserCollection) {
    return this.#host.store.list({ collection, owner: this.owner }, { signal: this.#abort.signal });
  }

  /** What is shown is as it should be, unless the store does not tell. */
  #goOn(wasTold: boolean): void {
    const down = this.#host.down();
    if (down !== undefined) this.#fail(down);
    else {
      this.#failure = undefined;
      this.namespace.setStale(false);
    }
    for (const [id, change] of this.#heard) {
      if (this.items.isNews(change)) this.#refresh.request(id);
      else {
        this.#heard.delete(id);
        // It was in the list, and nobody has been told.
        if (!wasTold) this.#tell(change);
      }
    }
  }

  #tryLater(): void {
    const { clock, random } = this.#host;
    this.#failures += 1;
    this.#retry?.cancel();
    this.#retry = clock.setTimer(() => void this.#load(), backoffDelay(this.#failures, { ...retry, random }));
  }

  /** Reads what others changed. */
  async #readAgain(ids: ReadonlySet<string>): Promise<void> {
    const { signal } = this.#abort;
    const heard = [...ids].map((id) => this.#heard.get(id)).filter((change) => change !== undefined);
    const late = heard.filter((change) => this.items.isNews(change));
    if (late.length > maxSingle) {
      await this.#load();
      return;
    }
    try {
      this.items.take(await Promise.all(late.map((change) => this.#read(change))));
    } catch (error) {
      if (signal.aborted) return;
      if (!ToolkitError.is(error)) throw error;
      // A list tells one bad record from a store that fails.
      await this.#load();
      return;
    }
    for (const change of heard) if (!this.items.isNews(change)) this.#forget(change);
  }

  async #read({ collection, key, version }: Change): Promise<Change> {
    const named = { collection, owner: this.owner, key };
    // What a resource holds is read when it is asked for.
    const record = await this.#host.store.get(named, { bytes: false, signal: this.#abort.signal });
    return { collection, key, version: record?.version ?? version, record };
  }

  #forget(change: Change): void {
    const id = idOf(change);
    const heard = this.#heard.get(id);
    if (heard !== undefined && !this.items.isNews(heard)) this.#heard.delete(id);
  }

  #tell(change: Change): void {
    for (const event of eventsOf(change, this.#principal)) this.#host.emit(event);
  }
}
