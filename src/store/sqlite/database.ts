import { open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { isRecord } from "../../lib/value.ts";
import { wideAccess } from "../../lib/wide-access.ts";
import { migrate } from "./sqlite-schema.ts";

/** The longest wait for a lock inside SQLite, which blocks the process, in milliseconds. Longer waits do not block it. */
const blockingMs = 10;

/** A database in a file, with the statements that were prepared for it. */
export class Database {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** A statement, compiled at its first use. */
  statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  exec(sql: string): void {
    this.#database.exec(sql);
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }
}

const inMemory = ":memory:";

/**
 * Opens the database of a file, which is made where there is none, for its owner alone (mode 600); its folder is not.
 *
 * @throws Error of SQLite where it is busy; else ToolkitError `STORE_FAILED`, saying what is wrong with the file
 */
export async function openDatabase(file: string): Promise<Database> {
  // Imported here and not above: Node 22 warns of it, and only those who open such a store should read that.
  const { DatabaseSync } = await import("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    // SQLite gives the files beside it, its log and its index, the mode that this one has.
    if (file !== inMemory) await (await open(file, "a", 0o600)).close();
    database = new DatabaseSync(file);
    prepare(database, file);
    return new Database(database);
  } catch (cause) {
    database?.close();
    if (isBusy(cause)) throw cause;
    const message = `The store ${file} cannot be opened: ${await reasonFor(file, cause)}.`;
    throw new ToolkitError("STORE_FAILED", message, { operation: "open" }, { cause });
  }
}

function prepare(database: DatabaseSync, file: string): void {
  database.exec(`PRAGMA busy_timeout = ${blockingMs}`);
  migrate(database);
  const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.journal_mode;
  if (mode !== "wal" && file !== inMemory)
    throw new Error(`its file system does not allow SQLite's write-ahead log (it stays ${String(mode)})`);
  // FULL: what was acknowledged survives a loss of power too.
  database.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
}

async function reasonFor(file: string, cause: unknown): Promise<string> {
  const folder = dirname(resolve(file));
  const [folderStat, fileStat] = await Promise.all([folder, file].map((path) => stat(path).catch(() => undefined)));
  if (folderStat === undefined) return `there is no folder ${folder}. Make it first`;
  if (fileStat?.isDirectory()) return "it is a folder. Give a file in it";
  return messageOf(cause);
}

/** A warning about a store that others than its owner may read or change; undefined where there is none to give. */
export async function accessWarning(file: string): Promise<string | undefined> {
  return file === inMemory ? undefined : wideAccess(file, "The store");
}

/** True where another connection has the lock: to try again helps. */
export function isBusy(error: unknown): boolean {
  const code = isRecord(error) ? error.errcode : undefined;
  // The primary code is in the lower byte: SQLITE_BUSY and SQLITE_LOCKED (https://www.sqlite.org/rescode.html).
  return typeof code === "number" && [5, 6].includes(code & 0xff);
}
