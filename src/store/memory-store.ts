import { ToolkitError } from "../core/error.ts";
import type { MessageBus } from "../core/message-bus.ts";
import { assertOptionNames, type OptionNames } from "../core/options.ts";
import { throwIfAborted } from "../core/signal.ts";
import type {
  DeleteOptions,
  GetOptions,
  ListRecordsOptions,
  PutOptions,
  Quota,
  RecordDraft,
  RecordKey,
  RecordList,
  RecordQuery,
  Store,
  StoredRecord,
  StoreEvent,
  StoreOptions,
} from "../core/store.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { ChannelListeners } from "./bus-rules.ts";
import {
  assertQuery,
  compareBytes,
  compareKeys,
  keepsVersions,
  parseRow,
  parseRows,
  type ReadDraft,
  type Row,
  readDraft,
  readKey,
  writtenRecord,
} from "./record.ts";
import {
  assertQuota,
  assertVersion,
  countedCollections,
  keptOfRemoved,
  needsUsage,
  readKeepVersions,
  type Usage,
} from "./record-rules.ts";
import { Watchers } from "./watchers.ts";

/** The options of a store in memory. */
export interface MemoryStoreOptions {
  /** The number of past versions kept of a prompt or resource. Default 20. */
  readonly keepVersions?: number | undefined;
  /** Time, for tests. Default: the machine's. */
  readonly clock?: Clock | undefined;
}

const optionNames: OptionNames<MemoryStoreOptions> = { keepVersions: true, clock: true };

/**
 * Keeps records for as long as the process lives.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option out of its range
 */
export function memoryStore(options: MemoryStoreOptions = {}): Store {
  assertOptionNames(options, optionNames, "of memoryStore");
  return new MemoryStore(options);
}

interface Kept extends Row {
  readonly version: number;
  readonly bytes: Uint8Array | undefined;
  readonly totalBytes: number;
}

/** All there is of one key. */
interface Shelf extends RecordKey {
  readonly version: number;
  /** Undefined once it is deleted. */
  readonly current: Kept | undefined;
  /** The latest first. */
  readonly past: readonly Kept[];
}

/** The present records of an owner in a collection. */
interface Present {
  readonly records: Map<string, Kept>;
  bytes: number;
}

class MemoryStore implements Store {
  readonly #keepVersions: number;
  readonly #clock: Clock;
  readonly #shelves = new Map<string, Shelf>();
  /** The bytes of the past versions of each removed record, by the collection and owner, the longest removed first. */
  readonly #removed = new Map<string, Map<string, number>>();
  /** The present records of each collection and owner. */
  readonly #present = new Map<string, Present>();
  readonly #watchers = new Watchers();
  readonly #channels = new ChannelListeners();
  /** For toolkits of one process that share the store. */
  readonly bus: MessageBus = this.#channels.local(() => this.#begin());
  #isClosed = false;

  constructor({ keepVersions, clock = systemClock }: MemoryStoreOptions) {
    this.#keepVersions = readKeepVersions(keepVersions);
    this.#clock = clock;
  }

  async open(options?: StoreOptions): Promise<void> {
    this.#begin(options);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#shelves.clear();
    this.#removed.clear();
    this.#present.clear();
    this.#watchers.clear();
    this.#channels.clear();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async get(key: RecordKey, options: GetOptions = {}): Promise<StoredRecord | undefined> {
    this.#begin(options);
    const shelf = this.#shelves.get(idOf(readKey(key)));
    const { version } = options;
    const kept = version === undefined ? shelf?.current : versionsOf(shelf).find((each) => each.version === version);
    return kept === undefined ? undefined : parseRow(lent(kept, options.bytes ?? true), "get");
  }

  async list(query: RecordQuery, options: ListRecordsOptions = {}): Promise<RecordList> {
    this.#begin(options);
    const { limit, bytes } = options;
    assertQuery(query, limit);
    let found = this.#found(query);
    if (limit !== undefined && found.length > limit)
      found = found.sort((one, other) => compareBytes(one.key, other.key)).slice(0, limit);
    return parseRows(
      found.sort(compareKeys).map((kept) => lent(kept, bytes)),
      "list",
    );
  }

  async count(query: RecordQuery, options: StoreOptions = {}): Promise<number> {
    this.#begin(options);
    assertQuery(query);
    return this.#found(query).length;
  }

  async put(draft: RecordDraft, options: PutOptions = {}): Promise<StoredRecord> {
    this.#begin(options);
    const read = readDraft(draft);
    const shelf = this.#shelves.get(idOf(read));
    assertVersion(read, options.expectedVersion, shelf?.current?.version ?? 0);
    const { quota } = options;
    if (quota !== undefined) assertQuota(read, quota, this.#usage(read, quota));
    const kept = this.#kept(read, (shelf?.version ?? 0) + 1);
    const { collection, owner, key, version } = kept;
    this.#removed.get(ownerIdOf(kept))?.delete(idOf(kept));
    this.#replace(kept, shelf?.current, kept);
    this.#shelves.set(idOf(kept), { collection, owner, key, version, current: kept, past: this.#past(shelf) });
    this.#watchers.tell({ type: "changed", collection, owner, key, version, origin: "here" });
    return writtenRecord(lent(kept, false));
  }

  async delete(key: RecordKey, options: DeleteOptions = {}): Promise<number | undefined> {
    this.#begin(options);
    const named = readKey(key);
    const id = idOf(named);
    const shelf = this.#shelves.get(id);
    assertVersion(named, options.expectedVersion, shelf?.current?.version ?? 0);
    if (shelf?.current === undefined) return undefined;
    const version = shelf.version + 1;
    this.#replace(named, shelf.current, undefined);
    if (keepsVersions(named.collection))
      this.#removeKeeping({ ...shelf, version, current: undefined, past: this.#past(shelf) });
    else this.#shelves.delete(id);
    this.#watchers.tell({ type: "changed", ...named, version, deleted: true, origin: "here" });
    return version;
  }

  async history(key: RecordKey, options: ListRecordsOptions = {}): Promise<RecordList> {
    this.#begin(options);
    const versions = versionsOf(this.#shelves.get(idOf(readKey(key))));
    return parseRows(
      versions.map((kept) => lent(kept, options.bytes)),
      "history",
    );
  }

  watch(listener: (event: StoreEvent) => void): () => void {
    this.#begin();
    return this.#watchers.add(listener);
  }

  #begin({ signal }: StoreOptions = {}): void {
    if (this.#isClosed) throw new ToolkitError("CLOSED", "The store is closed.", { what: "store" });
    throwIfAborted(signal);
  }

  #kept({ collection, owner, key, json, bytes, totalBytes }: ReadDraft, version: number): Kept {
    const updatedAt = Math.floor(this.#clock.now());
    return { collection, owner, key, version, updatedAt, json, size: bytes?.byteLength, bytes, totalBytes };
  }

  /** The history of a record once its present version is in it. */
  #past(shelf: Shelf | undefined): readonly Kept[] {
    if (shelf === undefined || !keepsVersions(shelf.collection)) return [];
    const { current, past } = shelf;
    return (current === undefined ? past : [current, ...past]).slice(0, this.#keepVersions);
  }

  /** Keeps the history of a removed record, in the place of those of the longest removed ones. */
  #removeKeeping(shelf: Shelf): void {
    const { collection, owner, past } = shelf;
    const removed = this.#removed.get(`${collection}\0${owner}`) ?? new Map<string, number>();
    this.#removed.set(`${collection}\0${owner}`, removed);
    this.#shelves.set(idOf(shelf), shelf);
    if (past.length > 0) removed.set(idOf(shelf), bytesOf(past));
    let bytes = [...removed.values()].reduce((sum, each) => sum + each, 0);
    for (const [id, size] of removed) {
      bytes -= size;
      if (removed.size <= keptOfRemoved.records && bytes < keptOfRemoved.bytes) return;
      removed.delete(id);
      const oldest = this.#shelves.get(id);
      if (oldest !== undefined) this.#shelves.set(id, { ...oldest, past: [] });
    }
  }

  #usage(draft: ReadDraft, quota: Quota): Usage {
    let [items, bytes] = [0, 0];
    if (!needsUsage(quota)) return { items, bytes };
    const counted = new Set(countedCollections(draft, quota));
    for (const collection of counted) {
      const present = this.#present.get(ownerIdOf({ collection, owner: draft.owner }));
      items += present?.records.size ?? 0;
      bytes += present?.bytes ?? 0;
    }
    const own = counted.has(draft.collection) ? this.#shelves.get(idOf(draft))?.current : undefined;
    return own === undefined ? { items, bytes } : { items: items - 1, bytes: bytes - own.totalBytes };
  }

  /** A record takes the place of another, or of none. */
  #replace(named: RecordKey, before: Kept | undefined, after: Kept | undefined): void {
    const id = ownerIdOf(named);
    const present = this.#present.get(id) ?? { records: new Map<string, Kept>(), bytes: 0 };
    present.bytes += (after?.totalBytes ?? 0) - (before?.totalBytes ?? 0);
    if (after === undefined) present.records.delete(named.key);
    else present.records.set(named.key, after);
    if (present.records.size === 0) this.#present.delete(id);
    else this.#present.set(id, present);
  }

  #found({ collection, owner, after, before }: RecordQuery): Kept[] {
    if (owner === undefined)
      return [...this.#present].flatMap(([id, { records }]) =>
        id.startsWith(`${collection}\0`) ? [...records.values()] : [],
      );
    const all = [...(this.#present.get(ownerIdOf({ collection, owner }))?.records.values() ?? [])];
    if (after === undefined && before === undefined) return all;
    return all.filter(
      ({ key }) =>
        (after === undefined || compareBytes(key, after) > 0) &&
        (before === undefined || compareBytes(key, before) < 0),
    );
  }
}

function bytesOf(kept: readonly Kept[]): number {
  return kept.reduce((sum, { totalBytes }) => sum + totalBytes, 0);
}

function versionsOf(shelf: Shelf | undefined): readonly Kept[] {
  if (shelf === undefined) return [];
  return shelf.current === undefined ? shelf.past : [shelf.current, ...shelf.past];
}

/** The record for a reader: its bytes are copied, so that a reader cannot change the stored ones. */
function lent(kept: Kept, withBytes = false): Row {
  return { ...kept, bytes: withBytes && kept.bytes !== undefined ? new Uint8Array(kept.bytes) : undefined };
}

function ownerIdOf({ collection, owner }: Pick<RecordKey, "collection" | "owner">): string {
  return `${collection}\0${owner}`;
}

/** NUL is in no collection, owner or key. */
function idOf({ collection, owner, key }: RecordKey): string {
  return `${collection}\0${owner}\0${key}`;
}
