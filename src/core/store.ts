import type { ToolkitError } from "./error.ts";

/** What is stored: prompts and resources that people make, calls that wait for approval, and agent runs that are suspended. */
export type Collection = "prompt" | "resource" | "approval" | "run";

/** What names a record. Owners and keys are any text but NUL and half a surrogate pair; a key is not empty. */
export interface RecordKey {
  readonly collection: Collection;
  /** Whose it is; empty for nobody's. At most 512 bytes of UTF-8. */
  readonly owner: string;
  /** At most 2,048 bytes of UTF-8. */
  readonly key: string;
}

/** What is to be stored. */
export interface RecordDraft extends RecordKey {
  /** Kept as `JSON.stringify` writes it. */
  readonly value: unknown;
  /** Whatever is not JSON, up to tens of megabytes. */
  readonly bytes?: Uint8Array | undefined;
}

/** What is stored. It is the reader's own: what is done to it changes nothing in the store. */
export interface StoredRecord extends RecordKey {
  /**
   * From 1, one more with each change, a deletion included. It goes on counting when the key comes back, so no version of a prompt or
   * resource is ever another. Of approvals and runs, whose keys are used once, nothing need be left after they are deleted.
   */
  readonly version: number;
  /** When it was put, in milliseconds since the epoch. */
  readonly updatedAt: number;
  /** What JSON made of the value that was put. */
  readonly value: unknown;
  /** How many bytes it has beside its value; undefined where there are none. */
  readonly size?: number | undefined;
  /** Undefined where there are none, or where they were not asked for. */
  readonly bytes?: Uint8Array | undefined;
}

/** A record that cannot be read, such as one that was edited by hand. */
export interface RecordFailure extends RecordKey {
  readonly version?: number | undefined;
  readonly error: ToolkitError<"STORE_FAILED">;
}

/** What was found, and what of it could not be read. */
export interface RecordList {
  readonly records: readonly StoredRecord[];
  readonly failures: readonly RecordFailure[];
}

/** How much one owner may store. What is reached is `LIMIT_EXCEEDED`, with the name of the field as its `limit`. */
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

/** How the store is asked for anything. An abort rejects with the signal's reason; a write that had begun may still be done. */
export interface StoreOptions {
  readonly signal?: AbortSignal | undefined;
}

/** How a record is got. */
export interface GetOptions extends StoreOptions {
  /** A past version, where it is kept. Default: what is there now. */
  readonly version?: number | undefined;
  /** Whether its bytes are read too. Default true. */
  readonly bytes?: boolean | undefined;
}

/** How records are listed. */
export interface ListRecordsOptions extends StoreOptions {
  /** Whether their bytes are read too. Default false. */
  readonly bytes?: boolean | undefined;
}

/** Which records are listed. */
export interface RecordQuery {
  readonly collection: Collection;
  /** Default: every owner. */
  readonly owner?: string | undefined;
}

/** How a record is deleted. */
export interface DeleteOptions extends StoreOptions {
  /** The version that must be there; 0 for none. Default: any. */
  readonly expectedVersion?: number | undefined;
}

/** How a record is put. */
export interface PutOptions extends DeleteOptions {
  /** Checked together with the write: two that are put at once do not both take the last place. */
  readonly quota?: Quota | undefined;
}

/**
 * What became of a store while it was watched.
 *
 * - `changed`: a record was put or deleted. Of one record versions only rise; where it changed several times, the last may stand for all
 * - `gap`: something may have been missed: list again
 * - `failed`: it cannot tell any more what others change, or cannot be asked at all
 * - `recovered`: it can again. Where something may have been missed, a `gap` follows
 */
export type StoreEvent =
  | (RecordKey & {
      readonly type: "changed";
      readonly version: number;
      readonly deleted?: true | undefined;
      /** Whether it was done through this store, or by somebody else who shares what it keeps. */
      readonly origin: "here" | "elsewhere";
    })
  | { readonly type: "gap" }
  | { readonly type: "failed"; readonly error: ToolkitError<"STORE_FAILED"> }
  | { readonly type: "recovered" };

/**
 * A memory that outlives a process, and that several may share. Each operation opens the store where that has not been done.
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
   * What is there, by owner and then key, in the order of their code units. One record that cannot be read is among the failures and
   * hides no other. A long list is no snapshot: what changes while it is made may be in it or not, and `watch` tells.
   */
  list(query: RecordQuery, options?: ListRecordsOptions): Promise<RecordList>;
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
   * `keepVersions` of each (20 unless the store is told otherwise), also after it was deleted.
   */
  history(key: RecordKey, options?: ListRecordsOptions): Promise<RecordList>;
  /**
   * Listens until the returned function is called. What is done through this store is told before its promise resolves, what others do
   * as soon as it is known. Who watches first and lists then misses nothing. A listener must not throw: nobody would hear of it.
   */
  watch(listener: (event: StoreEvent) => void): () => void;
}
