import { createHash } from "node:crypto";
import type { Collection, RecordQuery } from "../../core/store.ts";
import type { Row } from "../record.ts";

/** A row: every value is a text or null, whatever type parsers are set in pg. */
export type TextRow = Readonly<Record<string, string | null>>;

/** A statement that is prepared once in each connection. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** The parts of a query that are given, each with a value in this order, after the collection. */
export interface ListBounds {
  readonly owner?: unknown;
  readonly after?: unknown;
  readonly before?: unknown;
  readonly limit?: unknown;
}

/** The SQL statements of the store. */
export interface Statements {
  get(which: { readonly ofVersion: boolean; readonly withBytes: boolean }): Statement;
  readonly put: Statement;
  readonly delete: Statement;
  list(which: ListBounds & { readonly withBytes: boolean }): Statement;
  count(which: ListBounds): Statement;
  /** As `count`, of all prompts or resources of an owner. */
  readonly counted: Statement;
  history(which: { readonly withBytes: boolean }): Statement;
  /** Of the bus: sends messages, reads them, and takes and gives back the lock of a channel. */
  readonly publish: Statement;
  readonly messages: Statement;
  readonly hold: Statement;
  readonly release: Statement;
}

/** An identifier as it stands in a statement. */
export function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** @param schema - its name, not quoted */
export function statementsOf(schema: string): Statements {
  const inSchema = quoted(schema);
  const known = new Map<string, Statement>();
  const statement = (text: string): Statement => {
    const made = known.get(text) ?? { name: nameOf(text), text };
    known.set(text, made);
    return made;
  };
  const one = "collection = $1 AND owner = $2 AND key = $3";
  const present = (withBytes: boolean) =>
    `SELECT ${columnsOf(withBytes)} FROM ${inSchema}.record WHERE value IS NOT NULL AND`;
  const all = (withBytes: boolean) =>
    `${present(withBytes)} ${one} UNION ALL SELECT ${columnsOf(withBytes)} FROM ${inSchema}.past WHERE ${one}`;
  const channelKey = `${inSchema}.channel_key($1, $2)`;
  return {
    publish: statement(`SELECT ${inSchema}.publish($1, $2, $3, $4) AS is_sent`),
    messages: statement(`SELECT id, channel, body FROM ${inSchema}.message WHERE id = ANY ($1::bigint[])`),
    hold: statement(`SELECT pg_advisory_lock_shared(${channelKey})`),
    release: statement(`SELECT pg_advisory_unlock_shared(${channelKey})`),
    get: ({ ofVersion, withBytes }) =>
      statement(
        ofVersion
          ? `SELECT * FROM (${all(withBytes)}) AS kept WHERE version = $4::float8`
          : `${present(withBytes)} ${one}`,
      ),
    put: statement(`SELECT * FROM ${inSchema}.put($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`),
    delete: statement(`SELECT * FROM ${inSchema}.remove($1, $2, $3, $4, $5, $6, $7)`),
    list: ({ withBytes, ...bounds }) => statement(`${present(withBytes)} ${boundsOf(bounds)}`),
    count: ({ owner, after, before }) =>
      statement(
        `SELECT count(*) AS count FROM ${inSchema}.record WHERE value IS NOT NULL AND ${boundsOf({ owner, after, before })}`,
      ),
    counted: statement(
      `SELECT coalesce(sum(items), 0) AS count FROM ${inSchema}.usage WHERE collection = $1 AND owner = $2`,
    ),
    history: ({ withBytes }) => statement(`${all(withBytes)} ORDER BY version DESC`),
  };
}

function boundsOf(bounds: ListBounds): string {
  let count = 1;
  const given = (what: keyof ListBounds, text: string) => {
    if (bounds[what] === undefined) return "";
    count += 1;
    return `${text} $${count}`;
  };
  const { owner, after, before } = { owner: " AND owner =", after: " AND key >", before: " AND key <" };
  const where = `${given("owner", owner)}${given("after", after)}${given("before", before)}`;
  return `collection = $1${where}${given("limit", " ORDER BY key LIMIT")}`;
}

function columnsOf(withBytes: boolean): string {
  // In base64 bytes are a third longer; in hex, as they come by themselves, twice as long.
  const bytes = withBytes ? "encode(bytes, 'base64')" : "NULL";
  return `collection, owner, key, version, updated_at, value, octet_length(bytes) AS size, ${bytes} AS bytes`;
}

/** Named by its text: a pool that is given may be shared with a store of another schema, or of another version of this package. */
function nameOf(text: string): string {
  return `toolweave ${createHash("sha256").update(text).digest("base64url").slice(0, 22)}`;
}

/** The values of a statement that selects records. */
export function valuesOf({ collection, owner, after, before }: RecordQuery, limit?: number): readonly unknown[] {
  return [collection, owner, after, before, limit].filter((value) => value !== undefined);
}

/** A record as it comes from the database. */
export function rowOf({ collection, owner, key, version, updated_at, value, size, bytes }: TextRow): Row {
  return {
    collection: collection as Collection,
    owner: owner ?? "",
    key: key ?? "",
    version: Number(version),
    updatedAt: Number(updated_at),
    json: value,
    size: numberOf(size),
    bytes: bytes === null || bytes === undefined ? undefined : new Uint8Array(Buffer.from(bytes, "base64")),
  };
}

/** A number that comes as text; undefined for NULL. */
export function numberOf(text: string | null | undefined): number | undefined {
  return text === null || text === undefined ? undefined : Number(text);
}
