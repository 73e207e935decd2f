import { statSync } from "node:fs";
import { copyFile, mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { isRecord } from "../../lib/value.ts";
import { wideAccess } from "../../lib/wide-access.ts";
import { assertVersion, migrate } from "./sqlite-schema.ts";

/** The longest wait for a lock inside SQLite, which blocks the process, in milliseconds. Longer waits do not block it. */
const blockingMs = 10;

/** Options of a database. */
interface DatabaseOptions {
  readonly file: string;
  /** The reason it can only be read; undefined where it can be written too. */
  readonly readOnly?: string | undefined;
}

/** A database in a file, with the statements that were prepared for it. */
export class Database {
  /** The reason it can only be read; undefined where it can be written too. */
  readonly readOnly: string | undefined;
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  /** The identity of the file and of its log, by path, as first seen. */
  readonly #identities = new Map<string, string>();

  constructor(database: DatabaseSync, { file, readOnly }: DatabaseOptions) {
    this.#database = database;
    this.readOnly = readOnly;
    if (file === inMemory) return;
    this.#identities.set(file, identityOf(file) ?? "none");
    // SQLite creates its log at the first transaction.
    if (readOnly === undefined) this.#identities.set(`${file}-wal`, "");
  }

  /**
   * The file that is no longer the one that was opened, because it was deleted or replaced; undefined where all are. SQLite goes on with
   * a file that has no name any more, and what it writes there is lost.
   */
  misplaced(): string | undefined {
    for (const [path, known] of this.#identities) {
      const found = identityOf(path);
      if (known === "") this.#identities.set(path, found ?? "");
      else if (found !== known) return path;
    }
    return undefined;
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

/** The device and the inode of a file; undefined where there is none. */
function identityOf(path: string): string | undefined {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/**
 * Opens the database of a file, which is made where there is none, for its owner alone (mode 600); its folder is not. A file that may not
 * be written is opened for reading.
 *
 * @throws Error of SQLite where it is busy; else ToolkitError `STORE_FAILED`, saying what is wrong with the file
 */
export async function openDatabase(file: string): Promise<Database> {
  // Imported here and not above: Node 22 warns of it, and only those who open such a store should read that.
  const { DatabaseSync } = await import("node:sqlite");
  let database: DatabaseSync | undefined;
  try {
    const readOnly = file === inMemory ? undefined : await refusalToWrite(file);
    database = readOnly === undefined ? new DatabaseSync(file) : await openForReading(file);
    if (readOnly === undefined) prepare(database, file);
    else assertVersion(database);
    return new Database(database, { file, readOnly });
  } catch (cause) {
    database?.close();
    if (isBusy(cause)) throw cause;
    const message = `The store ${file} cannot be opened: ${await reasonFor(file, cause)}.`;
    throw new ToolkitError("STORE_FAILED", message, { operation: "open" }, { cause });
  }
}

/** Creates the file where there is none. Gives the reason where there is one that may only be read. */
async function refusalToWrite(file: string): Promise<string | undefined> {
  try {
    // SQLite gives the files beside it, its log and its index, the mode that this one has.
    await (await open(file, "a", 0o600)).close();
    return undefined;
  } catch (error) {
    const code = isRecord(error) ? error.code : undefined;
    if (code !== "EROFS" && code !== "EACCES" && code !== "EPERM") throw error;
    // A file that is not there, or cannot be read either, fails here.
    await (await open(file, "r")).close();
    return code === "EROFS" ? "its file system is read-only" : `its file may not be written (${code})`;
  }
}

/**
 * SQLite needs a place for the index of its log. Where there is none, and the log holds nothing, the file is read as one that nobody
 * changes, which a read-only file system warrants.
 */
async function openForReading(file: string): Promise<DatabaseSync> {
  const { DatabaseSync } = await import("node:sqlite");
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    database.exec("PRAGMA schema_version");
    return database;
  } catch (error) {
    database.close();
    const log = await stat(`${file}-wal`).catch(() => undefined);
    if (log !== undefined && log.size > 0) {
      const remedy = "open it once where it can be written, which moves its log into the file";
      throw new Error(`it can only be read here, and its log not at all: ${remedy}`, { cause: error });
    }
    const url = pathToFileURL(file);
    url.searchParams.set("immutable", "1");
    try {
      return new DatabaseSync(url, { readOnly: true });
    } catch (refusal) {
      if (isRecord(refusal) && refusal.code === "ERR_INVALID_ARG_TYPE") return openCopy(file);
      throw refusal;
    }
  }
}

/** The way before Node 22.15, whose SQLite takes no URL: a copy of a file that nobody changes reads the same. */
async function openCopy(file: string): Promise<DatabaseSync> {
  const { DatabaseSync } = await import("node:sqlite");
  const folder = await mkdtemp(join(tmpdir(), "toolweave-store-"));
  try {
    const copy = join(folder, "store.db");
    await copyFile(file, copy);
    const database = new DatabaseSync(copy, { readOnly: true });
    database.exec("PRAGMA schema_version");
    return database;
  } finally {
    // SQLite still reads files it has open. A system that keeps open files cleans its temporary folder later.
    await rm(folder, { recursive: true, force: true }).catch(() => undefined);
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
