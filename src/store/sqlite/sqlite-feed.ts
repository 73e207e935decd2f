import { messageOf, ToolkitError } from "../../core/error.ts";
import type { StoreEvent } from "../../core/store.ts";
import { misplacement } from "./access.ts";
import type { Database } from "./database.ts";
import { readChanges, readCounter } from "./rows.ts";

/** The interval at which the file is checked for changes of other processes, in milliseconds. */
const pollMs = 200;

/** The options of a feed. */
export interface SqliteFeedOptions {
  readonly file: string;
  /** The id of this writer: its own writes are not reported again. */
  readonly writer: string;
  tell(event: StoreEvent): void;
}

/**
 * Reports changes of the file by other processes, while it has a watcher. A check costs microseconds: SQLite knows whether another
 * connection has written, and only then is anything read.
 */
export class SqliteFeed {
  readonly #options: SqliteFeedOptions;
  #database: Database | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** The last change that is known. Undefined where that has to be found out. */
  #since: number | undefined;
  #dataVersion: unknown;
  #isFailed = false;

  constructor(options: SqliteFeedOptions) {
    this.#options = options;
  }

  /** There is a database from now on, or another, or none. */
  use(database: Database | undefined): void {
    this.#database = database;
    if (this.#timer !== undefined) this.#begin();
  }

  /** Reports changes from now on. */
  start(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setInterval(() => this.#look(), pollMs).unref();
    this.#begin();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#since = undefined;
  }

  #begin(): void {
    this.#since = undefined;
    this.#dataVersion = undefined;
    if (this.#database !== undefined) this.#look();
  }

  #look(): void {
    if (this.#database === undefined) return;
    try {
      this.#read(this.#database);
      if (this.#isFailed) this.#options.tell({ type: "recovered" });
      this.#isFailed = false;
    } catch (cause) {
      if (this.#isFailed) return;
      this.#isFailed = true;
      const message = `The store ${this.#options.file} cannot be watched: ${messageOf(cause)}.`;
      const error = new ToolkitError("STORE_FAILED", message, { operation: "watch" }, { cause });
      this.#options.tell({ type: "failed", error });
    }
  }

  #read(database: Database): void {
    const lost = database.misplaced();
    if (lost !== undefined) throw new Error(misplacement(lost));
    const dataVersion = database.statement("PRAGMA data_version").get()?.data_version;
    if (dataVersion === this.#dataVersion) return;
    const { change, forgotten } = readCounter(database);
    const since = this.#since ?? change;
    const isGap = since < forgotten;
    for (const each of readChanges(database, since)) {
      this.#since = each.change;
      if (each.writer !== this.#options.writer) this.#tell(each);
    }
    this.#since = Math.max(this.#since ?? change, since);
    this.#dataVersion = dataVersion;
    if (isGap) this.#options.tell({ type: "gap" });
  }

  #tell({ collection, owner, key, version, deleted }: ReturnType<typeof readChanges>[number]): void {
    const changed = { type: "changed", collection, owner, key, version, origin: "elsewhere" } as const;
    this.#options.tell(deleted === 0 ? changed : { ...changed, deleted: true });
  }
}
