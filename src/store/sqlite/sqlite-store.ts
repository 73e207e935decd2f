import { randomUUID } from "node:crypto";
import { ToolkitError } from "../../core/error.ts";
import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import { throwIfAborted } from "../../core/signal.ts";
import type {
  DeleteOptions,
  GetOptions,
  ListRecordsOptions,
  PutOptions,
  RecordDraft,
  RecordKey,
  RecordList,
  RecordQuery,
  Store,
  StoredRecord,
  StoreEvent,
  StoreOptions,
} from "../../core/store.ts";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { assertQuery, compareKeys, parseRow, parseRows, readDraft, readKey, writtenRecord } from "../record.ts";
import { readKeepVersions } from "../record-rules.ts";
import { Watchers } from "../watchers.ts";
import { Access } from "./access.ts";
import { accessWarning, type Database, openDatabase } from "./database.ts";
import { countOf, readAll, readHistory, readOne, type WriteContext, writeDelete, writePut } from "./rows.ts";
import { SqliteFeed } from "./sqlite-feed.ts";

/** The options of a store in an SQLite file. */
export interface SqliteStoreOptions {
  /** The file. It is made where there is none; its folder is not. `:memory:` keeps all in memory, for this store alone. */
  readonly file: string;
  /** The number of past versions kept of a prompt or resource. Default 20. */
  readonly keepVersions?: number | undefined;
  /** The longest wait for the lock of the file before an operation fails, in milliseconds. Default 10,000. */
  readonly busyTimeoutMs?: number | undefined;
  /** Time, for tests. Default: the machine's. */
  readonly clock?: Clock | undefined;
}

const optionNames: OptionNames<SqliteStoreOptions> = {
  file: true,
  keepVersions: true,
  busyTimeoutMs: true,
  clock: true,
};

/**
 * Keeps records in a file, with the SQLite of Node. Several processes of one machine may share the file: changes of one are reported in the
 * others within a second. What was acknowledged survives the end of the process and the loss of power.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option out of its range
 * @example
 * ```ts
 * const toolkit = new Toolkit({ store: sqliteStore({ file: "/var/lib/service/toolweave.db" }) });
 * ```
 */
export function sqliteStore(options: SqliteStoreOptions): Store {
  assertOptionNames(options, optionNames, "of sqliteStore");
  return new SqliteStore(options);
}

class SqliteStore implements Store {
  readonly #file: string;
  readonly #keepVersions: number;
  readonly #clock: Clock;
  readonly #writer = randomUUID();
  readonly #watchers = new Watchers();
  readonly #access: Access;
  readonly #feed: SqliteFeed;
  readonly #begun = new Set<Promise<unknown>>();
  #opening: Promise<Database> | undefined;
  #closing: Promise<void> | undefined;

  constructor({ file, keepVersions, busyTimeoutMs = 10_000, clock = systemClock }: SqliteStoreOptions) {
    if (typeof file !== "string" || file === "") throw invalidOption("file", "the path of a file", file, "of a store");
    if (!(Number.isFinite(busyTimeoutMs) && busyTimeoutMs >= 0))
      throw invalidOption("busyTimeoutMs", "a finite number from 0", busyTimeoutMs, "of a store");
    this.#file = file;
    this.#keepVersions = readKeepVersions(keepVersions);
    this.#clock = clock;
    this.#access = new Access({ file, busyTimeoutMs, open: () => this.#open() });
    this.#feed = new SqliteFeed({ file, writer: this.#writer, tell: (event) => this.#watchers.tell(event) });
  }

  open({ signal }: StoreOptions = {}): Promise<void> {
    return this.#run(signal, () => this.#access.read("open", () => undefined, signal));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get(
    key: RecordKey,
    { version, bytes: withBytes = true, signal }: GetOptions = {},
  ): Promise<StoredRecord | undefined> {
    return this.#run(signal, async () => {
      const named = readKey(key);
      const row = await this.#access.read(
        "get",
        (database) => readOne(database, named, { version, withBytes }),
        signal,
      );
      return row === undefined ? undefined : parseRow(row, "get");
    });
  }

  list(query: RecordQuery, { bytes, limit, signal }: ListRecordsOptions = {}): Promise<RecordList> {
    return this.#run(signal, async () => {
      assertQuery(query, limit);
      const rows = await readAll({ ...query, limit, withBytes: bytes === true }, (run) => {
        throwIfAborted(signal);
        return this.#access.read("list", run, signal);
      });
      return parseRows(rows.sort(compareKeys), "list");
    });
  }

  count(query: RecordQuery, { signal }: StoreOptions = {}): Promise<number> {
    return this.#run(signal, async () => {
      assertQuery(query);
      return this.#access.read("count", (database) => countOf(database, query), signal);
    });
  }

  put(draft: RecordDraft, { expectedVersion, quota, signal }: PutOptions = {}): Promise<StoredRecord> {
    return this.#run(signal, async () => {
      const read = readDraft(draft);
      const options = { expectedVersion, quota };
      const put = (database: Database) => writtenRecord(writePut(database, read, options, this.#writing()));
      const done = ({ version }: StoredRecord) => this.#tell(read, version);
      return this.#access.write("put", put, { signal, done });
    });
  }

  delete(key: RecordKey, { expectedVersion, signal }: DeleteOptions = {}): Promise<number | undefined> {
    return this.#run(signal, async () => {
      const named = readKey(key);
      const write = (database: Database) => writeDelete(database, named, expectedVersion, this.#writing());
      const done = (version: number | undefined) => {
        if (version !== undefined) this.#tell(named, version, { deleted: true });
      };
      return this.#access.write("delete", write, { signal, done });
    });
  }

  history(key: RecordKey, { bytes, signal }: ListRecordsOptions = {}): Promise<RecordList> {
    return this.#run(signal, async () => {
      const named = readKey(key);
      const read = (database: Database) => readHistory(database, named, bytes === true);
      return parseRows(await this.#access.read("history", read, signal), "history");
    });
  }

  watch(listener: (event: StoreEvent) => void): () => void {
    this.#assertOpen();
    const stop = this.#watchers.add(listener);
    this.#feed.start();
    return () => {
      stop();
      if (this.#watchers.size === 0) this.#feed.stop();
    };
  }

  /** Runs an operation, which `close` waits for. */
  async #run<T>(signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
    this.#assertOpen();
    throwIfAborted(signal);
    const running = run();
    this.#begun.add(running);
    try {
      return await running;
    } finally {
      this.#begun.delete(running);
    }
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ToolkitError("CLOSED", "The store is closed.", { what: "store" });
  }

  #tell({ collection, owner, key }: RecordKey, version: number, more: { readonly deleted?: true } = {}): void {
    this.#watchers.tell({ type: "changed", collection, owner, key, version, ...more, origin: "here" });
  }

  #open(): Promise<Database> {
    this.#opening ??= openDatabase(this.#file).then(
      async (database) => {
        this.#feed.use(database);
        const { readOnly } = database;
        const wide = await accessWarning(this.#file).catch(() => undefined);
        const only = readOnly && `The store ${this.#file} can only be read, since ${readOnly}: every write fails.`;
        for (const message of [wide, only])
          if (message !== undefined) this.#watchers.tell({ type: "warning", message });
        return database;
      },
      (error) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  async #close(): Promise<void> {
    await Promise.allSettled(this.#begun);
    await this.#access.idle();
    this.#feed.stop();
    this.#feed.use(undefined);
    this.#watchers.clear();
    const database = await this.#opening?.catch(() => undefined);
    database?.close();
  }

  #writing(): WriteContext {
    return { writer: this.#writer, keepVersions: this.#keepVersions, now: Math.floor(this.#clock.now()) };
  }
}
