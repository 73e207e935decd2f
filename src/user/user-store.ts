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
import { eventsOf, type ItemChange } from "./item-changes.ts";
import { idOf, type UserCollection } from "./item-key.ts";
import { storedContent } from "./stored-item.ts";
import { type ItemsHost, UserItems } from "./user-items.ts";

/** The parts that the user stores of a toolkit share. */
export interface UserStoreHost extends Pick<ItemsHost, "catalog" | "promptLimits" | "emit"> {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
  /** Time that lookups wait for the items of an owner to be read, in milliseconds. */
  readonly startTimeoutMs: number;
}

/** The owner of user stores, which watches the store for all of them. */
export interface UserStoreOwner {
  readonly watchError: ToolkitError | undefined;
  watch(): void;
  pin(owner: string): () => void;
}

const burstMs = 10;
const retry = { baseMs: 1_000, maxMs: 30_000 };
/** The most changes at once that are read one by one; for more, everything is listed again. */
const maxSingle = 100;

/** The items of one owner: read from the store at their first use, and again after each change by others. */
export class UserStore {
  readonly owner: string;
  readonly namespace: Namespace;
  readonly items: UserItems;
  readonly #host: UserStoreHost;
  readonly #stores: UserStoreOwner;
  readonly #abort = new AbortController();
  readonly #firstLoad = new FirstAttempt();
  readonly #refresh: Coalescer<string>;
  /** Changes that were reported and are not applied yet, by id. */
  readonly #reported = new Map<string, ItemChange>();
  /** The last load, while it waits or runs. */
  #loading: Promise<void> | undefined;
  #isLoaded = false;
  /** The reason the items may be stale or missing. */
  #failure: ListFailure | undefined;
  #failures = 0;
  #retry: Timer | undefined;

  constructor(owner: string, host: UserStoreHost, stores: UserStoreOwner) {
    const { catalog, promptLimits, clock, logger, emit } = host;
    this.owner = owner;
    this.#host = host;
    this.#stores = stores;
    this.namespace = catalog.makePersonal(userNamespace, {
      principal: this.#principal,
      settling: (start) => this.#settling(start),
      failures: () => [...(this.#failure === undefined ? [] : [this.#failure]), ...this.items.failures],
      // Changes of all items in memory are emitted without a subscription.
      subscribe: () => stores.pin(owner),
    });
    const read = (uri: string, options: ReadOptions) => this.#readContent(uri, options);
    this.items = new UserItems(this.namespace, { catalog, promptLimits, emit, now: () => clock.now(), read });
    this.#refresh = new Coalescer((ids) => this.#readReported(ids), {
      delayMs: burstMs,
      clock,
      onError: (error) => logger.error(`The namespace user could not be read: ${messageOf(error)}`, { error }),
    });
  }

  /**
   * Resolves when all items are in memory.
   *
   * @throws ToolkitError `STORE_FAILED`, `INVALID_INPUT` for an owner no store can keep; the reason of an aborted signal
   */
  async ready(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#isLoaded) return;
    await abortable(this.#loading ?? this.#load(), signal);
    if (!this.#isLoaded) throw this.#failure?.error ?? this.#abort.signal.reason;
  }

  /** A change was reported by the store. */
  changed(change: ItemChange): void {
    if (!this.#isLoaded && this.#loading === undefined) {
      this.#emit(change);
      return;
    }
    const id = idOf(change);
    if ((this.#reported.get(id)?.version ?? 0) >= change.version) return;
    this.#reported.set(id, change);
    if (this.#isLoaded) this.#refresh.request(id);
  }

  /** Reads everything again where it was read before: reports may be lost. */
  reload(): void {
    if (this.#isLoaded || this.#failure !== undefined) void this.#load();
  }

  /** The watch of the store fails: items that were read may be stale from now on. */
  watchFailed(error: ToolkitError): void {
    if (this.#isLoaded || this.#failure !== undefined) this.#fail(error);
  }

  close(): void {
    this.#abort.abort(new ToolkitError("CLOSED", "The toolkit is closed.", { what: "toolkit" }));
    this.#refresh.stop();
    this.#retry?.cancel();
    this.#firstLoad.settle();
  }

  get #principal(): string | undefined {
    return this.owner === "" ? undefined : this.owner;
  }

  #settling(start: boolean): Promise<void> | undefined {
    if (start && this.#loading === undefined && this.#firstLoad.pending !== undefined) void this.#load();
    return this.#firstLoad.pending;
  }

  /** Reads everything, after a load that runs already. It never rejects. */
  #load(): Promise<void> {
    this.#retry?.cancel();
    const { clock, startTimeoutMs } = this.#host;
    if (this.#firstLoad.pending !== undefined && this.#loading === undefined)
      this.#firstLoad.limit(clock, startTimeoutMs, () =>
        this.#fail(new Error(`no answer within ${startTimeoutMs} ms`)),
      );
    // More owners than fit in memory may load at once: an owner that was evicted before its callers continue would load without end.
    const unpin = this.#stores.pin(this.owner);
    const loading = (this.#loading ?? Promise.resolve()).then(() => this.#loadOnce());
    this.#loading = loading;
    return loading.finally(() => {
      if (this.#loading === loading) this.#loading = undefined;
      setImmediate(unpin);
    });
  }

  async #loadOnce(): Promise<void> {
    const { signal } = this.#abort;
    if (signal.aborted) return;
    try {
      this.#stores.watch();
      const changesBefore = this.items.changes;
      const lists = await Promise.all([this.#list("prompt"), this.#list("resource")]);
      // Items that were stored before their first load are not new.
      const emits = this.#isLoaded || this.#failure !== undefined;
      await this.items.applyLists(lists, changesBefore, emits);
      if (signal.aborted) return;
      this.#isLoaded = true;
      this.#failures = 0;
      this.#loaded(emits);
    } catch (error) {
      if (signal.aborted) return;
      this.#fail(error);
      if (!ToolkitError.is(error, "INVALID_INPUT") && !ToolkitError.is(error, "CLOSED")) this.#retryLater();
    }
    this.#firstLoad.settle();
  }

  #list(collection: UserCollection) {
    return this.#host.store.list({ collection, owner: this.owner }, { signal: this.#abort.signal });
  }

  /** The items are as the store has them, and stay so unless its watch fails. Applies what was reported meanwhile. */
  #loaded(emitted: boolean): void {
    const { watchError } = this.#stores;
    if (watchError !== undefined) this.#fail(watchError);
    else {
      this.#failure = undefined;
      this.namespace.setStale(false);
    }
    for (const [id, change] of this.#reported) {
      if (this.items.isNewer(change)) this.#refresh.request(id);
      else {
        this.#reported.delete(id);
        // It is in the list, whose differences were not emitted.
        if (!emitted) this.#emit(change);
      }
    }
  }

  #fail(error: unknown): void {
    const { clock } = this.#host;
    const message = `The store failed: ${messageOf(error)}`;
    const failed = ToolkitError.is(error)
      ? error
      : new ToolkitError("STORE_FAILED", message, { operation: "list" }, { cause: error });
    this.#failure = { namespace: userNamespace, error: failed, since: this.#failure?.since ?? Math.floor(clock.now()) };
    this.namespace.setStale(true);
  }

  #retryLater(): void {
    const { clock, random } = this.#host;
    this.#failures += 1;
    this.#retry?.cancel();
    this.#retry = clock.setTimer(() => void this.#load(), backoffDelay(this.#failures, { ...retry, random }));
  }

  /** Reads the items whose changes were reported. */
  async #readReported(ids: ReadonlySet<string>): Promise<void> {
    const { signal } = this.#abort;
    const reported = [...ids].map((id) => this.#reported.get(id)).filter((change) => change !== undefined);
    const newer = reported.filter((change) => this.items.isNewer(change));
    if (newer.length > maxSingle) {
      await this.#load();
      return;
    }
    try {
      this.items.apply(await Promise.all(newer.map((change) => this.#read(change))));
    } catch (error) {
      if (signal.aborted) return;
      if (!ToolkitError.is(error)) throw error;
      // A list distinguishes a record that cannot be read from a store that fails.
      await this.#load();
      return;
    }
    for (const change of reported) this.#forgetReported(idOf(change));
  }

  async #read({ collection, key, version }: ItemChange): Promise<ItemChange> {
    // The content of a resource is read when it is used.
    const options = { bytes: false, signal: this.#abort.signal };
    const record = await this.#host.store.get({ collection, owner: this.owner, key }, options);
    return { collection, key, version: record?.version ?? version, record };
  }

  #forgetReported(id: string): void {
    const change = this.#reported.get(id);
    if (change !== undefined && !this.items.isNewer(change)) this.#reported.delete(id);
  }

  /** Reads the content of a resource. @throws ToolkitError `NOT_FOUND`, `STORE_FAILED` */
  async #readContent(key: string, { signal }: ReadOptions): Promise<Content> {
    const record = await this.#host.store.get({ collection: "resource", owner: this.owner, key }, { signal });
    if (record !== undefined) return storedContent(record);
    const message = `There is no resource ${JSON.stringify(key)} in user any more.`;
    throw new ToolkitError("NOT_FOUND", message, { key, suggestions: [] });
  }

  #emit(change: ItemChange): void {
    for (const event of eventsOf(change, this.#principal)) this.#host.emit(event);
  }
}
