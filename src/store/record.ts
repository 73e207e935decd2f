import { messageOf, ToolkitError } from "../core/error.ts";
import { shown } from "../core/options.ts";
import type {
  Collection,
  RecordDraft,
  RecordFailure,
  RecordKey,
  RecordList,
  RecordQuery,
  StoredRecord,
} from "../core/store.ts";
import { parseJson } from "../lib/nesting.ts";
import { isRecord, present } from "../lib/value.ts";

const collections: { readonly [C in Collection]: { readonly keepsVersions: boolean } } = {
  prompt: { keepsVersions: true },
  resource: { keepsVersions: true },
  approval: { keepsVersions: false },
  run: { keepsVersions: false },
  workflow: { keepsVersions: false },
  result: { keepsVersions: false },
  pin: { keepsVersions: false },
  conversation: { keepsVersions: false },
  target: { keepsVersions: false },
};

/** Of PostgreSQL's index entries at most 2,704 bytes fit, and all stores take the same keys. */
const longest = { owner: 512, key: 2_048 } as const;

/** True for a collection whose past versions are kept. */
export function keepsVersions(collection: Collection): boolean {
  return collections[collection].keepsVersions;
}

/** A draft in the form every store keeps: `json` and `bytes`, with their total size. */
export interface ReadDraft extends RecordKey {
  readonly json: string;
  /** A copy: what its owner does to it afterwards is not stored. */
  readonly bytes: Uint8Array | undefined;
  readonly totalBytes: number;
}

/**
 * Reads what is to be stored.
 *
 * @throws ToolkitError `INVALID_INPUT`
 */
export function readDraft(draft: RecordDraft): ReadDraft {
  const named = readKey(draft);
  const { bytes } = draft;
  if (bytes !== undefined && !(bytes instanceof Uint8Array)) throw invalid("/bytes", "must be a Uint8Array", bytes);
  const json = jsonOf(named, draft.value);
  const totalBytes = Buffer.byteLength(json) + (bytes?.byteLength ?? 0);
  return { ...named, json, bytes: bytes === undefined ? undefined : new Uint8Array(bytes), totalBytes };
}

/**
 * The parts of a name, and nothing else.
 *
 * @throws ToolkitError `INVALID_INPUT`
 */
export function readKey(named: RecordKey): RecordKey {
  if (!isRecord(named)) throw invalid("", "must be { collection, owner, key }", named);
  const { collection, owner, key } = named;
  assertCollection(collection);
  assertOwner(owner);
  assertText("key", key);
  if (key === "") throw invalid("/key", "must not be empty", key);
  return { collection, owner, key };
}

/** @throws ToolkitError `INVALID_INPUT` for a query or a limit that is none */
export function assertQuery({ collection, owner, after, before }: RecordQuery, limit?: number): void {
  assertCollection(collection);
  if (owner !== undefined) assertOwner(owner);
  for (const bound of [after, before]) if (bound !== undefined) assertText("key", bound);
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 0))
    throw invalid("/limit", "must be a whole number from 0", limit);
  if (owner === undefined && [after, before, limit].some((each) => each !== undefined))
    throw invalid("/owner", "must be given with after, before or a limit", owner);
}

/** True for the name of a collection. */
export function isCollection(collection: unknown): collection is Collection {
  return typeof collection === "string" && Object.hasOwn(collections, collection);
}

/** @throws ToolkitError `INVALID_INPUT` */
export function assertCollection(collection: unknown): asserts collection is Collection {
  if (isCollection(collection)) return;
  throw invalid("/collection", `must be one of ${Object.keys(collections).join(", ")}`, collection);
}

/** @throws ToolkitError `INVALID_INPUT` */
function assertOwner(owner: unknown): asserts owner is string {
  assertText("owner", owner);
}

function assertText(field: "owner" | "key", text: unknown): asserts text is string {
  const isText = typeof text === "string" && text.isWellFormed() && !text.includes("\0");
  if (!isText) throw invalid(`/${field}`, "must be a text without NUL or half a surrogate pair", text);
  const max = longest[field];
  if (Buffer.byteLength(text) > max) throw invalid(`/${field}`, `must have at most ${max} bytes of UTF-8`, text);
}

function jsonOf(named: RecordKey, value: unknown): string {
  const wanted = `of ${nameOf(named)} must be JSON`;
  try {
    const json = JSON.stringify(value);
    if (json !== undefined) return json;
  } catch (cause) {
    throw invalid("/value", `${wanted}: ${messageOf(cause)}`, value, cause);
  }
  throw invalid("/value", wanted, value);
}

function invalid(pointer: string, wanted: string, value: unknown, cause?: unknown): ToolkitError<"INVALID_INPUT"> {
  const what = pointer === "" ? "What names a record" : `The ${pointer.slice(1)} of a record`;
  const text = `${what} ${wanted}, and is ${shown(value)}.`;
  return new ToolkitError("INVALID_INPUT", text, { issues: [{ pointer, message: wanted }] }, { cause });
}

/** A name for messages: `prompt "greet" of "ada"`. */
export function nameOf({ collection, owner, key }: RecordKey): string {
  const name = `${collection} ${JSON.stringify(key)}`;
  return owner === "" ? name : `${name} of ${JSON.stringify(owner)}`;
}

/** A record as it lies in a store, before anybody looked at it. */
export interface Row extends RecordKey {
  readonly version: unknown;
  readonly updatedAt: unknown;
  readonly json: unknown;
  readonly size: unknown;
  /** Null or undefined where there are none, or where they were not asked for. */
  readonly bytes: unknown;
}

/**
 * Makes a record of a row.
 *
 * @throws ToolkitError `STORE_FAILED` for one that is none, naming it
 */
export function parseRow(row: Row, operation: string): StoredRecord {
  const { collection, owner, key, version, updatedAt, size, bytes } = row;
  const bad = (why: string, cause?: unknown) => {
    const message = `The store has a ${nameOf(row)} that cannot be read: ${why}. Correct it, or delete it.`;
    return new ToolkitError("STORE_FAILED", message, { operation }, { cause });
  };
  if (!isCount(version)) throw bad(`its version is ${shown(version)}`);
  if (typeof updatedAt !== "number") throw bad(`its time is ${shown(updatedAt)}`);
  if (size !== null && size !== undefined && !isCount(size)) throw bad(`its size is ${shown(size)}`);
  if (bytes !== null && bytes !== undefined && !(bytes instanceof Uint8Array)) throw bad("its bytes are none");
  if (typeof row.json !== "string") throw bad("its value is no text");
  let value: unknown;
  try {
    value = parseJson(row.json);
  } catch (cause) {
    throw bad(`its value is no JSON: ${messageOf(cause)}`, cause);
  }
  const optional = present({ size: size ?? undefined, bytes: bytes ?? undefined });
  return Object.freeze({ collection, owner, key, version, updatedAt, value, ...optional });
}

/** The record of a row that was written a moment ago. Its value is parsed when it is first read: a writer knows it, and it may be long. */
export function writtenRecord(row: Row): StoredRecord {
  const { value: _, ...record } = parseRow({ ...row, json: "null" }, "put");
  let parsed: { readonly value: unknown } | undefined;
  return Object.freeze({
    ...record,
    get value() {
      parsed ??= { value: parseJson(String(row.json)) };
      return parsed.value;
    },
  });
}

/** Makes records of rows: what cannot be read is among the failures. */
export function parseRows(rows: Iterable<Row>, operation: string): RecordList {
  const records: StoredRecord[] = [];
  const failures: RecordFailure[] = [];
  for (const row of rows) {
    try {
      records.push(parseRow(row, operation));
    } catch (error) {
      if (!ToolkitError.is(error, "STORE_FAILED")) throw error;
      const { collection, owner, key, version } = row;
      failures.push({ collection, owner, key, ...(isCount(version) ? { version } : {}), error });
    }
  }
  return Object.freeze({ records: Object.freeze(records), failures: Object.freeze(failures) });
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** By owner and then key, in the order of their code units. */
export function compareKeys(one: RecordKey, other: RecordKey): number {
  return compareText(one.owner, other.owner) || compareText(one.key, other.key);
}

/** The order of the bytes of two texts in UTF-8, which is that of their code points. */
export function compareBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at++) {
    const [unit, otherUnit] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (unit !== otherUnit) return rankOf(unit) - rankOf(otherUnit);
  }
  return one.length - other.length;
}

/** Surrogates stand for code points beyond all others. */
function rankOf(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

function compareText(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
