import { DatabaseSync } from "node:sqlite";

/** A database of SQLite that `using` closes: that of Node 22.13 has no `Symbol.dispose`. */
export function openSqlite(file: string): DatabaseSync & Disposable {
  const database = new DatabaseSync(file);
  return Object.assign(database, { [Symbol.dispose]: () => database.close() });
}
