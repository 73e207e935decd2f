import type { HeadRequest } from "../catalog/deferred-items.ts";
import type { Namespace, WantedItem } from "../catalog/namespace.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { userNamespace } from "../core/identifier.ts";
import type { ListFailure } from "../core/item.ts";
import type { ReadOptions } from "../core/resource.ts";
import { backoffDelay } from "../lib/backoff.ts";
import type { Timer } from "../lib/clock.ts";
import { Coalescer } from "../lib/coalesce.ts";
import { FirstAttempt } from "../lib/first-attempt.ts";
import { abortable } from "../lib/promise.ts";
import { eventsOf, type ItemChange } from "./item-changes.ts";
import { idOf, wantedItem } from "./item-key.ts";
import { PartReads } from "./part-reads.ts";
import { UserItems } from "./user-items.ts";
import { UserRecords } from "./user-records.ts";
import type { UserStoreHost, UserStoreOwner } from "./user-store-host.ts";

const burstMs = 10;
const retry = { baseMs: 1_000, maxMs: 30_000 };
/** The most changes at once that are read one by one; for more, everything is listed again. */
const maxSingle = 100;

/**
 * The items of one owner. A lookup reads the one item it needs, a page those on it; a whole list, a change and many pages read all, and parse
 * none. What is in memory is read again after each change by others.
 */
export class UserStore {
  readonly owner: string;
  readonly namespace: Namespace;
  readonly items: UserItems;
  readonly #host: UserStoreHost;
  readonly #stores: UserStoreOwner;
  readonly #abort = new AbortController();
  readonly #records: UserRecords;
  readonly #firstLoad = new FirstAttempt();
  readonly #refresh: Coalescer<string>;
  /** Changes that were reported and are not applied yet, by id. */
  readonly #reported = new Map<string, ItemChange>();
  /** The last load, while it waits or runs. */
  #loading: Promise<void> | undefined;
  #isLoaded = false;
  readonly #parts: PartReads;
  /** A lookup or list was answered without what the store may have: what comes then is new. */
  #wasMissed = false;
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
      settling: (start, wanted) => this.#settling(start, wanted),
      head: (request) => this.#head(request),
      coming: (wanted) => this.#settling(true, wanted),
      failures: () => [...(this.#failure === undefined ? [] : [this.#failure]), ...this.items.failures],
      // Changes of all items in memory are emitted without a subscription.
      subscribe: () => stores.pin(owner),
    });
    this.#records = new UserRecords(host.store, owner, this.#abort.signal);
    const read = (uri: string, options: ReadOptions) => this.#records.content(uri, options);
    this.items = new UserItems(this.namespace, { catalog, promptLimits, emit, now: () => clock.now(), read });
    this.#parts = this.#partReads();
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
    const id = idOf(change);
    const isKnown = this.#isLoaded || this.items.knows(change);
    // A record that is being read may be as it was before, also a partial that a prompt uses.
    if (!isKnown && this.#loading === undefined && !this.#parts.isRunning) {
      this.#emit(change);
      return;
    }
    if ((this.#reported.get(id)?.version ?? 0) >= change.version) return;
    this.#reported.set(id, change);
    if (isKnown) this.#refresh.request(id);
  }

  /** Reads everything again where it was read before: reports may be lost. */
  reload(): void {
    if (this.#isUsed) void this.#load();
  }

  /** The watch of the store fails: items that were read may be stale from now on. */
  watchFailed(error: ToolkitError): void {
    if (this.#isUsed) this.#fail(error);
  }

  close(): void {
    this.#abort.abort(new ToolkitError("CLOSED", "The toolkit is closed.", { what: "toolkit" }));
    this.#refresh.stop();
    this.#retry?.cancel();
    this.#firstLoad.settle();
  }

  get #isUsed(): boolean {
    return this.#isLoaded || this.#failure !== undefined || !this.items.isEmpty;
  }

  get #principal(): string | undefined {
    return this.owner === "" ? undefined : this.owner;
  }

  /** Undefined once the items are in memory, or the one that is wanted: of the others nothing is read for it. */
  #settling(start: boolean, wanted?: WantedItem): Promise<void> | undefined {
    if (this.#firstLoad.pending === undefined) return undefined;
    const item = wanted === undefined ? undefined : wantedItem(wanted);
    if (wanted !== undefined && item === undefined) return undefined;
    if (item === undefined || this.#loading !== undefined) {
      if (start && this.#loading === undefined) void this.#load();
      return this.#firstLoad.pending;
    }
    if (!this.items.knows(item)) return start ? this.#parts.item(item) : this.#firstLoad.pending;
    if (item.collection === "prompt" || this.namespace.has("resource", item.key)) return undefined;
    // It may be there in another spelling of its URI.
    return this.#settling(start);
  }

  /** Reads the first items of a list; false where all are needed, or there. */
  async #head(request: HeadRequest): Promise<boolean> {
    if (this.#firstLoad.pending === undefined || this.#loading !== undefined) return false;
    const isRead = await this.#parts.head(request);
    if (isRead) this.#stores.loaded();
    return isRead;
  }

  #partReads(): PartReads {
    const { clock, startTimeoutMs } = this.#host;
    return new PartReads({
      records: this.#records,
      items: this.items,
      clock,
      startTimeoutMs,
      signal: this.#abort.signal,
      pin: () => this.#stores.pin(this.owner),
      watch: () => this.#stores.watch(),
      read: () => {
        if (this.#stores.watchError !== undefined) this.#fail(this.#stores.watchError);
      },
      miss: (error) => this.#miss(error),
      load: () => this.#load(),
      ended: () => {
        if (!this.#parts.isRunning && this.#loading === undefined) this.#followReported(this.#isLoaded);
      },
    });
  }

  /** The wanted item is answered as missing, and is read again later. */
  #miss(error: unknown): void {
    this.#wasMissed = true;
    this.#fail(error);
    if (!ToolkitError.is(error, "INVALID_INPUT") && !ToolkitError.is(error, "CLOSED")) this.#retryLater();
    this.#firstLoad.settle();
  }

  /** Reads everything, after a load that runs already. It never rejects. */
  #load(): Promise<void> {
    this.#retry?.cancel();
    const { clock, startTimeoutMs } = this.#host;
    if (this.#firstLoad.pending !== undefined && this.#loading === undefined)
      this.#firstLoad.limit(clock, startTimeoutMs, () =>
        this.#miss(new Error(`no answer within ${startTimeoutMs} ms`)),
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
      const lists = await Promise.all([this.#records.list("prompt"), this.#records.list("resource")]);
      // Items that were stored before their first load are not new.
      const emits = this.#isLoaded || this.#wasMissed;
      await this.items.applyLists(lists, changesBefore, emits);
      if (signal.aborted) return;
      this.#isLoaded = true;
      this.#failures = 0;
      this.#stores.loaded();
      this.#loaded();
      this.#followReported(emits);
      this.#firstLoad.settle();
    } catch (error) {
      if (!signal.aborted) this.#miss(error);
    }
  }

  /** The items are as the store has them, and stay so unless its watch fails. */
  #loaded(): void {
    const { watchError } = this.#stores;
    if (watchError !== undefined) this.#fail(watchError);
    else {
      this.#failure = undefined;
      this.namespace.setStale(false);
    }
  }

  /**
   * Applies what was reported while items were read.
   *
   * @param emitted - whether differences of what was read were emitted
   */
  #followReported(emitted: boolean): void {
    for (const [id, change] of this.#reported) {
      const isKnown = this.#isLoaded || this.items.knows(change);
      if (isKnown && this.items.isNewer(change)) this.#refresh.request(id);
      else {
        this.#reported.delete(id);
        // It is in what was read, or not in memory.
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
      const changes = await Promise.all(newer.map((change) => this.#records.read(change)));
      if (!this.#isLoaded) this.items.preview(await this.#records.partialsOf(changes, this.items));
      this.items.apply(changes);
    } catch (error) {
      if (signal.aborted) return;
      if (!ToolkitError.is(error)) throw error;
      // A list distinguishes a record that cannot be read from a store that fails.
      await this.#load();
      return;
    }
    for (const change of reported) this.#forgetReported(idOf(change));
  }

  #forgetReported(id: string): void {
    const change = this.#reported.get(id);
    if (change !== undefined && !this.items.isNewer(change)) this.#reported.delete(id);
  }

  #emit(change: ItemChange): void {
    for (const event of eventsOf(change, this.#principal)) this.#host.emit(event);
  }
}
