import type { ToolkitError } from "./error.ts";
import type { MessageBus } from "./message-bus.ts";

/**
 * The collections of a store: prompts and resources that people make, calls that wait for approval, suspended agent runs, runs of
 * workflows, long results of tools, pinned contracts of connectors, conversations with agents, what connectors found out of their targets.
 */
export type Collection =
  | "prompt"
  | "resource"
  | "approval"
  | "run"
  | "workflow"
  | "result"
  | "pin"
  | "conversation"
  | "target";

/** The identity of a record. Owners and keys are any text but NUL and half a surrogate pair; a key is not empty. */
export interface RecordKey {
  readonly collection: Collection;
  /** The owner; empty for a record of no principal. At most 512 bytes of UTF-8. */
  readonly owner: string;
  /** At most 2,048 bytes of UTF-8. */
  readonly key: string;
}

/** A record to be stored. */
export interface RecordDraft extends RecordKey {
  /** Kept as `JSON.stringify` writes it. */
  readonly value: unknown;
  /** Whatever is not JSON, up to tens of megabytes. */
  readonly bytes?: Uint8Array | undefined;
}

/** A stored record. It is a copy for the reader: changing it changes nothing in the store. */
export interface StoredRecord extends RecordKey {
  /**
   * From 1, one more with each change, a deletion included. It goes on counting when the key comes back, so no version of a prompt or
   * resource is ever another. Of approvals, runs and results, whose keys are used once, nothing need be left after they are deleted.
   */
  readonly version: number;
  /** When it was put, in milliseconds since the epoch. */
  readonly updatedAt: number;
  /** The value that was put, after a round trip through JSON. */
  readonly value: unknown;
  /** The number of bytes beside its value; undefined where there are none. */
  readonly size?: number | undefined;
  /** Undefined where there are none, or where they were not asked for. */
  readonly bytes?: Uint8Array | undefined;
}

/** A record that cannot be read, such as one that was edited by hand. */
export interface RecordFailure extends RecordKey {
  readonly version?: number | undefined;
  readonly error: ToolkitError<"STORE_FAILED">;
}

/** The records that were found, and those that could not be read. */
export interface RecordList {
  readonly records: readonly StoredRecord[];
  readonly failures: readonly RecordFailure[];
}

/** The quota of one owner. A reached one is `LIMIT_EXCEEDED`, with the name of the field as its `limit`. */
export interface Quota {
  /** Which collections count together. Default: that of the record. */
  readonly collections?: readonly Collection[] | undefined;
  /** So many records. */
  readonly items?: number | undefined;
  /** So many bytes a record: the JSON of its value as UTF-8, and its bytes. */
  readonly itemBytes?: number | undefined;
  /** So many bytes in all. Past versions do not count. */
  readonly bytes?: number | undefined;
}

/** The options of every operation. An abort rejects with the signal's reason; a write that had begun may still happen. */
export interface StoreOptions {
  readonly signal?: AbortSignal | undefined;
}

/** The options of getting a record. */
export interface GetOptions extends StoreOptions {
  /** A past version, where it is kept. Default: what is there now. */
  readonly version?: number | undefined;
  /** Whether its bytes are read too. Default true. */
  readonly bytes?: boolean | undefined;
}

/** The options of listing records. */
export interface ListRecordsOptions extends StoreOptions {
  /** Whether their bytes are read too. Default false. */
  readonly bytes?: boolean | undefined;
  /** The most records, of one owner: the first by key, in the order of the bytes of their UTF-8. Default: all. */
  readonly limit?: number | undefined;
}

/** The filters of a list of records. */
export interface RecordQuery {
  readonly collection: Collection;
  /** Default: every owner. */
  readonly owner?: string | undefined;
  /** Only keys that come after this one, in the order of the bytes of their UTF-8; needs `owner`. */
  readonly after?: string | undefined;
  /** Only keys that come before this one, in the same order; needs `owner`. */
  readonly before?: string | undefined;
}

/** The options of deleting a record. */
export interface DeleteOptions extends StoreOptions {
  /** The version that must be there; 0 for none. Default: any. */
  readonly expectedVersion?: number | undefined;
}

/** The options of putting a record. */
export interface PutOptions extends DeleteOptions {
  /** Checked together with the write: two that are put at once do not both take the last place. */
  readonly quota?: Quota | undefined;
}

/**
 * A change of a store that is watched.
 *
 * - `changed`: a record was put or deleted. Of one record versions only rise; where it changed several times, the last may stand for all
 * - `gap`: something may have been missed: list again
 * - `failed`: changes of other processes are not seen any more, or the store does not answer at all
 * - `recovered`: it can again. Where something may have been missed, a `gap` follows
 * - `warning`: something an operator should know and that fails nothing, such as a file that others may read
 */
export type StoreEvent =
  | (RecordKey & {
      readonly type: "changed";
      readonly version: number;
      readonly deleted?: true | undefined;
      /** Whether the change was made through this store, or by another process that shares the records. */
      readonly origin: "here" | "elsewhere";
    })
  | { readonly type: "gap" }
  | { readonly type: "failed"; readonly error: ToolkitError<"STORE_FAILED"> }
  | { readonly type: "recovered" }
  | { readonly type: "warning"; readonly message: string };

/**
 * Keeps state that outlives a process, and that several processes may share. Each operation opens the store where that has not been done.
 *
 * Every operation fails with `STORE_FAILED`, naming the operation, where the storage itself does; with `CLOSED` after `close`; and with
 * `INVALID_INPUT` for a key, owner or value that cannot be stored. No error holds a secret such as a password of a database.
 */
export interface Store extends AsyncDisposable {
  /** Opens it, so that what is wrong with it is known now. Again it does nothing; after a failure it tries once more. */
  open(options?: StoreOptions): Promise<void>;
  /** Ends it, after what was begun has ended. Nothing is left behind: no connection, file handle, timer or listener. */
  close(): Promise<void>;
  /** @throws ToolkitError `STORE_FAILED` for a record that cannot be read, naming it */
  get(key: RecordKey, options?: GetOptions): Promise<StoredRecord | undefined>;
  /**
   * The records that match, by owner and then key, in the order of their code units. One record that cannot be read is among the failures and
   * hides no other. A long list is no snapshot: a change while it is made may be in it or not, and `watch` reports it.
   */
  list(query: RecordQuery, options?: ListRecordsOptions): Promise<RecordList>;
  /**
   * The number of records that match, those included that cannot be read. A store without this method need not know `limit`, `after` and `before`
   * either: a toolkit then reads all items of an owner for its first list.
   */
  count?(query: RecordQuery, options?: StoreOptions): Promise<number>;
  /**
   * Stores it; what was there is a past version then. When this resolves it is safe from the end of the process.
   *
   * @returns what is stored, without its bytes
   * @throws ToolkitError `CONFLICT` where another version is there than expected; `LIMIT_EXCEEDED` for a quota
   */
  put(draft: RecordDraft, options?: PutOptions): Promise<StoredRecord>;
  /**
   * Deletes it; what was there is a past version then.
   *
   * @returns the version of the deletion; undefined where nothing was there
   * @throws ToolkitError `CONFLICT` where another version is there than expected
   */
  delete(key: RecordKey, options?: DeleteOptions): Promise<number | undefined>;
  /**
   * Every version that is kept, the latest first, that of now included. Past versions are kept of prompts and resources alone, the last
   * `keepVersions` of each (20 unless the store's option says otherwise), also after it was deleted. Of deleted ones they are kept of the last
   * hundred of an owner in each collection, as long as those deleted after it have less than 32 MiB of them.
   */
  history(key: RecordKey, options?: ListRecordsOptions): Promise<RecordList>;
  /**
   * Listens until the returned function is called. A change through this store is reported before its promise resolves, one of others
   * as soon as it is known. Watching first and listing then misses nothing. A listener must not throw: the error would be lost.
   */
  watch(listener: (event: StoreEvent) => void): () => void;
  /**
   * Messages between the processes that share the records: replicas of a service work together through it. Undefined where the store has
   * no way to other processes that wakes them, as a file.
   */
  readonly bus?: MessageBus | undefined;
}
