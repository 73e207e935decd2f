import { ToolkitError } from "../../core/error.ts";
import type { MessageBus } from "../../core/message-bus.ts";
import { throwIfAborted } from "../../core/signal.ts";
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
} from "../../core/store.ts";
import { abortable } from "../../lib/promise.ts";
import {
  assertQuery,
  compareKeys,
  keepsVersions,
  parseRow,
  parseRows,
  type ReadDraft,
  readDraft,
  readKey,
  writtenRecord,
} from "../record.ts";
import { assertExpectedVersion, assertQuota, assertVersion, countedCollections, needsUsage } from "../record-rules.ts";
import { Connections } from "./connections.ts";
import { migrate } from "./migrations.ts";
import { PostgresBus } from "./postgres-bus.ts";
import { type Failed, failuresOf } from "./postgres-failure.ts";
import { PostgresFeed } from "./postgres-feed.ts";
import { type PostgresSettings, type PostgresStoreOptions, readPostgresOptions } from "./postgres-options.ts";
import {
  numberOf,
  rowOf,
  type Statement,
  type Statements,
  statementsOf,
  type TextRow,
  valuesOf,
} from "./statements.ts";

/**
 * Keeps records in PostgreSQL, for all processes that use the same schema. Needs the package `pg`.
 *
 * When it is first used it brings its schema up to date, and from then on it keeps one connection that listens for changes of others. Where that
 * breaks it reconnects by itself, and watchers are notified. Close it at the end: its connections keep the process alive.
 *
 * Opening it fails with `MISSING_PEER` where pg is not installed.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an option that is not what it must be
 * @example
 * ```ts
 * const toolkit = new Toolkit({ store: postgresStore({ connectionString: process.env.DATABASE_URL }) });
 * ```
 */
export function postgresStore(options: PostgresStoreOptions): Store {
  return new PostgresStore(readPostgresOptions(options));
}

class PostgresStore implements Store {
  readonly #settings: PostgresSettings;
  readonly #statements: Statements;
  readonly #connections: Connections;
  readonly #feed: PostgresFeed;
  readonly #bus: PostgresBus;
  readonly #failed: Failed;
  readonly bus: MessageBus = {
    publish: (channel, message) =>
      this.#begin("publish", undefined, () => this.#ready().then(() => this.#bus.publish(channel, message))),
    subscribe: (channel, listener) => {
      this.#assertOpen();
      return this.#bus.subscribe(channel, listener, () => this.open());
    },
  };
  /** Whatever close waits for. */
  readonly #begun = new Set<Promise<unknown>>();
  #isMigrated = false;
  #isReady = false;
  #closing: Promise<void> | undefined;

  constructor(settings: PostgresSettings) {
    const { schema, clock } = settings;
    this.#settings = settings;
    this.#statements = statementsOf(schema);
    this.#connections = new Connections(settings);
    this.#bus = new PostgresBus({ connections: this.#connections, statements: this.#statements, schema });
    this.#failed = failuresOf(settings);
    this.#feed = new PostgresFeed({
      connections: this.#connections,
      channel: schema,
      clock,
      failed: this.#failed,
      bus: this.#bus,
      prepare: () => this.#prepare(),
    });
  }

  open({ signal }: StoreOptions = {}): Promise<void> {
    return this.#begin("open", signal, () => this.#feed.up());
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  get(
    named: RecordKey,
    { signal, version, bytes: withBytes = true }: GetOptions = {},
  ): Promise<StoredRecord | undefined> {
    return this.#begin("get", signal, async () => {
      const { collection, owner, key } = readKey(named);
      const ofVersion = version !== undefined;
      const values = ofVersion ? [collection, owner, key, version] : [collection, owner, key];
      const [row] = await this.#read(this.#statements.get({ ofVersion, withBytes }), values, signal);
      return row === undefined ? undefined : parseRow(rowOf(row), "get");
    });
  }

  list(query: RecordQuery, options: ListRecordsOptions = {}): Promise<RecordList> {
    const { signal, limit, bytes: withBytes = false } = options;
    return this.#begin("list", signal, async () => {
      assertQuery(query, limit);
      const { owner, after, before } = query;
      const statement = this.#statements.list({ owner, after, before, limit, withBytes });
      const rows = (await this.#read(statement, valuesOf(query, limit), signal)).map(rowOf);
      // PostgreSQL knows the order of code points, not that of code units.
      return parseRows(rows.sort(compareKeys), "list");
    });
  }

  count(query: RecordQuery, { signal }: StoreOptions = {}): Promise<number> {
    return this.#begin("count", signal, async () => {
      assertQuery(query);
      const values = valuesOf(query);
      const isCounted = query.owner !== undefined && values.length === 2 && keepsVersions(query.collection);
      const statement = isCounted ? this.#statements.counted : this.#statements.count(query);
      const [row] = await this.#read(statement, values, signal);
      return Number(row?.count);
    });
  }

  history(named: RecordKey, { signal, bytes: withBytes = false }: ListRecordsOptions = {}): Promise<RecordList> {
    return this.#begin("history", signal, async () => {
      const { collection, owner, key } = readKey(named);
      const statement = this.#statements.history({ withBytes });
      const rows = (await this.#read(statement, [collection, owner, key], signal)).map(rowOf);
      return parseRows(rows, "history");
    });
  }

  put(draft: RecordDraft, { signal, expectedVersion, quota }: PutOptions = {}): Promise<StoredRecord> {
    return this.#begin("put", signal, async () => {
      const read = readDraft(draft);
      assertExpectedVersion(read, expectedVersion);
      // A record that is too large by itself need not go over the network.
      if (quota !== undefined) assertQuota(read, { itemBytes: quota.itemBytes }, { items: 0, bytes: 0 });
      const answer = await this.#feed.change(read, false, (notice) =>
        this.#put(read, expectedVersion, quota, notice, signal),
      );
      const { version, updatedAt, found, usage } = answer;
      if (version === undefined) {
        assertVersion(read, expectedVersion, found);
        if (quota !== undefined) assertQuota(read, quota, usage);
        throw new Error("the schema's function put did nothing, and did not say why");
      }
      const { collection, owner, key, json, bytes } = read;
      const row = { collection, owner, key, version, updatedAt, json, size: bytes?.byteLength, bytes: undefined };
      return writtenRecord(row);
    });
  }

  delete(key: RecordKey, { signal, expectedVersion }: DeleteOptions = {}): Promise<number | undefined> {
    return this.#begin("delete", signal, async () => {
      const named = readKey(key);
      assertExpectedVersion(named, expectedVersion);
      const answer = await this.#feed.change(named, true, (notice) =>
        this.#delete(named, expectedVersion, notice, signal),
      );
      if (answer.version === undefined) assertVersion(named, expectedVersion, answer.found);
      return answer.version;
    });
  }

  watch(listener: (event: StoreEvent) => void): () => void {
    this.#assertOpen();
    const stop = this.#feed.watch(listener);
    // A failure reaches watchers as an event.
    this.open().catch(() => undefined);
    return stop;
  }

  async #begin<R>(operation: string, signal: AbortSignal | undefined, work: () => Promise<R>): Promise<R> {
    this.#assertOpen();
    throwIfAborted(signal);
    const begun = work().catch((error) => {
      throw this.#failed(operation, error);
    });
    const settled = begun.then(
      () => undefined,
      () => undefined,
    );
    this.#begun.add(settled);
    void settled.then(() => this.#begun.delete(settled));
    return abortable(begun, signal);
  }

  async #close(): Promise<void> {
    await Promise.all(this.#begun);
    await this.#feed.close();
    await this.#bus.close();
    await this.#connections.close();
  }

  #assertOpen(): void {
    if (this.#closing !== undefined) throw new ToolkitError("CLOSED", "The store is closed.", { what: "store" });
  }

  async #put(
    draft: ReadDraft,
    expected: number | undefined,
    quota: Quota | undefined,
    notice: string,
    signal: AbortSignal | undefined,
  ) {
    const { collection, owner, key, json, bytes, totalBytes } = draft;
    const counts = needsUsage(quota)
      ? [countedCollections(draft, quota), quota.items, quota.bytes]
      : [null, null, null];
    const named = [this.#settings.schema, collection, owner, key];
    const values = [...named, json, bytes, totalBytes, expected, this.#keep(draft), ...counts, notice];
    const row = await this.#write(this.#statements.put, values, signal);
    const usage = { items: Number(row.used_items), bytes: Number(row.used_bytes) };
    return {
      version: numberOf(row.put_version),
      updatedAt: numberOf(row.put_at),
      found: Number(row.found_version),
      usage,
    };
  }

  async #delete(
    { collection, owner, key }: RecordKey,
    expected: number | undefined,
    notice: string,
    signal: AbortSignal | undefined,
  ) {
    const named = [this.#settings.schema, collection, owner, key];
    const row = await this.#write(
      this.#statements.delete,
      [...named, expected, this.#keep({ collection, owner, key }), notice],
      signal,
    );
    return { version: numberOf(row.gone_version), found: Number(row.found_version) };
  }

  /** The number of past versions kept; undefined for collections without history. */
  #keep({ collection }: RecordKey): number | undefined {
    return keepsVersions(collection) ? this.#settings.keepVersions : undefined;
  }

  async #read(statement: Statement, values: readonly unknown[], signal: AbortSignal | undefined) {
    await this.#ready();
    return this.#connections.run(({ query }) => query(statement, values), { signal, endsEarly: true });
  }

  /** Once it is sent, an abort does not end it: its outcome would be unknown. */
  async #write(statement: Statement, values: readonly unknown[], signal: AbortSignal | undefined): Promise<TextRow> {
    await this.#ready();
    const [row] = await this.#connections.run(({ query }) => query(statement, values), { signal });
    if (row === undefined) throw new Error("the schema's function gave no row");
    return row;
  }

  /** The first time: from then on watchers are notified where something may have been missed. */
  async #ready(): Promise<void> {
    if (this.#isReady) return;
    await this.#feed.up();
    this.#isReady = true;
  }

  async #prepare(): Promise<void> {
    if (this.#isMigrated) return;
    await this.#connections.run((session) => migrate(session, this.#settings.schema));
    this.#isMigrated = true;
  }
}
