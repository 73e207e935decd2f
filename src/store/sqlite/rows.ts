import { setImmediate as turn } from "node:timers/promises";
import type { Collection, Quota, RecordKey, RecordQuery } from "../../core/store.ts";
import { keepsVersions, type ReadDraft, type Row } from "../record.ts";
import { assertQuota, assertVersion, countedCollections, keptOfRemoved, needsUsage } from "../record-rules.ts";
import type { Database } from "./database.ts";
import { pastBytes } from "./sqlite-schema.ts";

/** For so long it is known that an approval, a run or a result was deleted, in milliseconds: its key is not used again. */
const tombstoneMs = 3_600_000;

const columns = "r.collection, r.owner, r.key, r.version, r.updated_at AS updatedAt, r.value AS json, r.size";
const contentOf = (version: string) => `LEFT JOIN content c ON c.record = r.id AND c.version = ${version}`;
const pastColumns = "r.collection, r.owner, r.key, p.version, p.updated_at AS updatedAt, p.value AS json, p.size";
const named = "r.collection = ? AND r.owner = ? AND r.key = ?";

/** A row of the database as `parseRow` takes it: the columns are named for it. */
const asRow = (found: unknown) => found as Row | undefined;

/** A change, as it is reported to others. */
export interface RecordChange extends RecordKey {
  readonly version: number;
  readonly deleted: number;
  readonly change: number;
  readonly writer: string;
}

/** The writer, the time, and the number of versions kept. */
export interface WriteContext {
  readonly writer: string;
  readonly keepVersions: number;
  readonly now: number;
}

interface Standing {
  readonly id: number;
  readonly version: number;
  readonly deleted: number;
}

export function readOne(
  database: Database,
  { collection, owner, key }: RecordKey,
  { version, withBytes }: { readonly version: number | undefined; readonly withBytes: boolean },
): Row | undefined {
  const bytes = withBytes ? ", c.bytes" : "";
  const content = (version: string) => (withBytes ? contentOf(version) : "");
  const current = database.statement(
    `SELECT ${columns}${bytes} FROM record r ${content("r.version")} WHERE ${named} AND r.deleted = 0 AND r.version = coalesce(?, r.version)`,
  );
  const found = asRow(current.get(collection, owner, key, version ?? null));
  if (found !== undefined || version === undefined) return found;
  const past = database.statement(
    `SELECT ${pastColumns}${bytes} FROM record r JOIN past p ON p.record = r.id ${content("p.version")} WHERE ${named} AND p.version = ?`,
  );
  return asRow(past.get(collection, owner, key, version));
}

export function readHistory(database: Database, key: RecordKey, withBytes: boolean): readonly Row[] {
  const bytes = (version: string) =>
    withBytes ? `(SELECT bytes FROM content c WHERE c.record = r.id AND c.version = ${version})` : "NULL";
  const all = database.statement(
    `SELECT ${columns}, ${bytes("r.version")} AS bytes FROM record r WHERE ${named} AND r.deleted = 0
     UNION ALL
     SELECT ${pastColumns}, ${bytes("p.version")} FROM record r JOIN past p ON p.record = r.id WHERE ${named}
     ORDER BY 4 DESC`,
  );
  const { collection, owner, key: name } = key;
  return all.all(collection, owner, name, collection, owner, name) as unknown as readonly Row[];
}

/** The records that are read, and with their bytes or not. */
export interface Wanted extends RecordQuery {
  readonly withBytes: boolean;
  readonly limit?: number | undefined;
}

/** The number of records that match. */
export function countOf(database: Database, { collection, owner, after = "", before }: RecordQuery): number {
  const where = owner === undefined ? "" : " AND owner = ?";
  const values = owner === undefined ? [collection] : [collection, owner];
  if (after === "" && before === undefined) {
    const counted = database.statement(`SELECT total(items) AS count FROM usage WHERE collection = ?${where}`);
    return Number(counted.get(...values)?.count);
  }
  const until = before === undefined ? "" : " AND key < ?";
  const found = database.statement(
    `SELECT count(*) AS count FROM record WHERE collection = ?${where} AND key > ?${until} AND deleted = 0`,
  );
  return Number(found.get(...values, after, ...(before === undefined ? [] : [before]))?.count);
}

/** Reads them in pages, so that others come in between: `read` runs what reads one. */
export async function readAll(
  { collection, owner, after = "", before, limit = Number.POSITIVE_INFINITY, withBytes }: Wanted,
  read: (run: (database: Database) => readonly Row[]) => Promise<readonly Row[]>,
): Promise<Row[]> {
  const size = withBytes ? 20 : 500;
  const from = `SELECT ${columns}${withBytes ? ", c.bytes" : ""} FROM record r ${withBytes ? contentOf("r.version") : ""}`;
  // Rows in place of `(owner, key) > (?, ?)` where there is one owner: SQLite then takes the whole of the index.
  const where = owner === undefined ? "(r.owner, r.key) > (?, ?)" : "r.owner = ? AND r.key > ?";
  const until = before === undefined ? "" : "AND r.key < ?";
  const sql = `${from} WHERE r.collection = ? AND ${where} ${until} AND r.deleted = 0 ORDER BY r.owner, r.key LIMIT ?`;
  const bounds = before === undefined ? [] : [before];
  const rows: Row[] = [];
  for (let last = { owner: owner ?? "", key: after }; ; ) {
    const count = Math.min(size, limit - rows.length);
    const page = await read(
      (database) => database.statement(sql).all(collection, last.owner, last.key, ...bounds, count) as unknown as Row[],
    );
    for (const row of page) rows.push(row);
    const end = page.at(-1);
    if (end === undefined || page.length < size || rows.length >= limit) return rows;
    last = { owner: end.owner, key: end.key };
    await turn();
  }
}

/** Puts a record. @throws ToolkitError `CONFLICT`, `LIMIT_EXCEEDED` */
export function writePut(
  database: Database,
  draft: ReadDraft,
  { expectedVersion, quota }: { readonly expectedVersion?: number | undefined; readonly quota?: Quota | undefined },
  writing: WriteContext,
): Row {
  const { collection, owner, key, json, bytes, totalBytes } = draft;
  const standing = standingOf(database, draft);
  assertVersion(draft, expectedVersion, currentVersion(standing));
  if (quota !== undefined) assertQuota(draft, quota, usageOf(database, draft, quota));
  if (standing !== undefined) putAway(database, collection, standing, writing);
  const version = (standing?.version ?? 0) + 1;
  const { now, writer } = writing;
  const size = bytes?.byteLength ?? null;
  const { id } = database
    .statement(
      `INSERT INTO record (collection, owner, key, version, updated_at, value, size, total_bytes, change, writer)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (collection, owner, key) DO UPDATE SET version = excluded.version, deleted = 0, updated_at = excluded.updated_at,
         value = excluded.value, size = excluded.size, total_bytes = excluded.total_bytes, change = excluded.change,
         writer = excluded.writer
       RETURNING id`,
    )
    .get(collection, owner, key, version, now, json, size, totalBytes, nextChange(database), writer) as {
    readonly id: number;
  };
  if (bytes !== undefined) database.statement("INSERT INTO content VALUES (?, ?, ?)").run(id, version, bytes);
  return { collection, owner, key, version, updatedAt: now, json, size, bytes: undefined };
}

/** Deletes a record; undefined where there was none. @throws ToolkitError `CONFLICT` */
export function writeDelete(
  database: Database,
  key: RecordKey,
  expectedVersion: number | undefined,
  writing: WriteContext,
): number | undefined {
  const standing = standingOf(database, key);
  assertVersion(key, expectedVersion, currentVersion(standing));
  if (standing === undefined || standing.deleted !== 0) return undefined;
  putAway(database, key.collection, standing, writing);
  const version = standing.version + 1;
  database
    .statement(
      `UPDATE record SET version = ?, deleted = 1, updated_at = ?, value = 'null', size = NULL, total_bytes = ${pastBytes},
         change = ?, writer = ?
       WHERE id = ?`,
    )
    .run(version, writing.now, nextChange(database), writing.writer, standing.id);
  forgetHistories(database, key);
  forgetTombstones(database, writing.now);
  return version;
}

/** The changes of other writers since then, in order. */
export function readChanges(database: Database, since: number): readonly RecordChange[] {
  const all = database.statement(
    "SELECT collection, owner, key, version, deleted, change, writer FROM record WHERE change > ? ORDER BY change",
  );
  return all.all(since) as unknown as readonly RecordChange[];
}

/** The number of the last change, and of the last that is not known any more. */
export function readCounter(database: Database): { readonly change: number; readonly forgotten: number } {
  const counter = database.statement("SELECT change, forgotten FROM counter").get();
  return counter as unknown as { readonly change: number; readonly forgotten: number };
}

function standingOf(database: Database, { collection, owner, key }: RecordKey): Standing | undefined {
  const found = database.statement(`SELECT id, version, deleted FROM record r WHERE ${named}`);
  return found.get(collection, owner, key) as Standing | undefined;
}

function currentVersion(standing: Standing | undefined): number {
  return standing === undefined || standing.deleted !== 0 ? 0 : standing.version;
}

/** Moves the present version into the history, where past versions are kept. */
function putAway(
  database: Database,
  collection: Collection,
  { id, version, deleted }: Standing,
  { keepVersions }: WriteContext,
): void {
  if (deleted !== 0) return;
  const isKept = keepsVersions(collection) && keepVersions > 0;
  if (!isKept) {
    database.statement("DELETE FROM content WHERE record = ? AND version = ?").run(id, version);
    return;
  }
  database.statement("INSERT INTO past SELECT id, version, updated_at, value, size FROM record WHERE id = ?").run(id);
  const oldest = database
    .statement("SELECT version FROM past WHERE record = ? ORDER BY version DESC LIMIT 1 OFFSET ?")
    .get(id, keepVersions)?.version;
  if (typeof oldest !== "number") return;
  database.statement("DELETE FROM content WHERE record = ? AND version <= ?").run(id, oldest);
  database.statement("DELETE FROM past WHERE record = ? AND version <= ?").run(id, oldest);
}

function usageOf(
  database: Database,
  draft: ReadDraft,
  quota: Quota,
): { readonly items: number; readonly bytes: number } {
  let usage = { items: 0, bytes: 0 };
  if (!needsUsage(quota)) return usage;
  const inAll = database.statement("SELECT items, bytes FROM usage WHERE owner = ? AND collection = ?");
  for (const collection of new Set(countedCollections(draft, quota))) {
    const { items = 0, bytes = 0 } = (inAll.get(draft.owner, collection) ?? {}) as Partial<typeof usage>;
    usage = { items: usage.items + items, bytes: usage.bytes + bytes };
  }
  const own = database.statement(
    `SELECT count(*) AS items, total(total_bytes) AS bytes FROM record r WHERE ${named} AND deleted = 0`,
  );
  if (!countedCollections(draft, quota).includes(draft.collection)) return usage;
  const { items, bytes } = own.get(draft.collection, draft.owner, draft.key) as typeof usage;
  return { items: usage.items - items, bytes: usage.bytes - bytes };
}

function nextChange(database: Database): number {
  const counter = database.statement("UPDATE counter SET change = change + 1 RETURNING change").get();
  return Number(counter?.change);
}

/** Of a tombstone `total_bytes` is that of its past versions: 0 where it has none. */
function forgetHistories(database: Database, { collection, owner }: RecordKey): void {
  const old = database
    .statement(
      `SELECT id FROM (
         SELECT id, row_number() OVER newest AS nth, sum(total_bytes) OVER newest - total_bytes AS newer
         FROM record WHERE collection = ? AND owner = ? AND deleted = 1 AND total_bytes > 0 WINDOW newest AS (ORDER BY change DESC)
       ) WHERE nth > ? OR newer >= ?`,
    )
    .all(collection, owner, keptOfRemoved.records, keptOfRemoved.bytes);
  for (const { id } of old) {
    if (typeof id !== "number") continue;
    database.statement("DELETE FROM content WHERE record = ?").run(id);
    database.statement("DELETE FROM past WHERE record = ?").run(id);
    database.statement("UPDATE record SET total_bytes = 0 WHERE id = ?").run(id);
  }
}

/** Removes old tombstones of approvals, runs and results. A reader that has not seen them yet gets a gap. */
function forgetTombstones(database: Database, now: number): void {
  const old = "deleted = 1 AND updated_at < ? AND collection IN ('approval', 'run', 'result')";
  const last = database.statement(`SELECT max(change) AS change FROM record WHERE ${old}`).get(now - tombstoneMs);
  if (typeof last?.change !== "number") return;
  database.statement(`DELETE FROM record WHERE ${old}`).run(now - tombstoneMs);
  database.statement("UPDATE counter SET forgotten = max(forgotten, ?)").run(last.change);
}
