import type { DatabaseSync } from "node:sqlite";

/** In the header of a file of ours: `tool` in ASCII. */
const applicationId = 0x746f6f6c;

/** The bytes of the past versions of a record. */
export const pastBytes =
  "(SELECT coalesce(sum(length(CAST(p.value AS BLOB)) + coalesce(p.size, 0)), 0) FROM past p WHERE p.record = record.id)";

/**
 * The steps from each version of the schema to the next. A released step is never changed: a change is a new step.
 *
 * - `record`: the present records. A deleted one stays as a tombstone, so that its version goes on counting and others learn of it
 * - `past`: what was there before; of a tombstone `total_bytes` is that of these
 * - `content`: the bytes of both, apart so that lists need not step over them
 * - `counter`: the number of the last change, and of the last one whose tombstone is gone
 * - `usage`: how much each owner has in a collection, kept by triggers: what a quota costs does not grow with it
 */
const migrations: readonly string[] = [
  `
  CREATE TABLE record (
    id INTEGER PRIMARY KEY,
    collection TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version BETWEEN 1 AND 9007199254740991),
    deleted INTEGER NOT NULL DEFAULT 0,
    updated_at INTEGER NOT NULL CHECK (updated_at BETWEEN 0 AND 9007199254740991),
    value TEXT NOT NULL,
    size INTEGER CHECK (size BETWEEN 0 AND 9007199254740991),
    total_bytes INTEGER NOT NULL CHECK (total_bytes BETWEEN 0 AND 9007199254740991),
    change INTEGER NOT NULL,
    writer TEXT NOT NULL,
    UNIQUE (collection, owner, key)
  ) STRICT;
  CREATE INDEX record_change ON record (change);
  CREATE INDEX record_usage ON record (owner, collection, total_bytes) WHERE deleted = 0;
  CREATE INDEX record_tombstone ON record (updated_at) WHERE deleted = 1;
  CREATE TABLE past (
    record INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
    version INTEGER NOT NULL CHECK (version BETWEEN 1 AND 9007199254740991),
    updated_at INTEGER NOT NULL CHECK (updated_at BETWEEN 0 AND 9007199254740991),
    value TEXT NOT NULL,
    size INTEGER CHECK (size BETWEEN 0 AND 9007199254740991),
    PRIMARY KEY (record, version)
  ) STRICT;
  CREATE TABLE content (
    record INTEGER NOT NULL REFERENCES record (id) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (record, version)
  ) STRICT;
  CREATE TABLE counter (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    change INTEGER NOT NULL,
    forgotten INTEGER NOT NULL
  ) STRICT;
  INSERT INTO counter VALUES (1, 0, 0);
  `,
  `
  UPDATE record SET total_bytes = ${pastBytes} WHERE deleted = 1;
  CREATE INDEX record_removed ON record (collection, owner, change) WHERE deleted = 1 AND total_bytes > 0;
  `,
  `
  DROP INDEX record_usage;
  CREATE TABLE usage (
    owner TEXT NOT NULL,
    collection TEXT NOT NULL,
    items INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (owner, collection)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO usage SELECT owner, collection, count(*), sum(total_bytes) FROM record WHERE deleted = 0 GROUP BY owner, collection;
  CREATE TRIGGER usage_put AFTER INSERT ON record WHEN NEW.deleted = 0 BEGIN ${usageChange("NEW", "+")} END;
  CREATE TRIGGER usage_back AFTER UPDATE ON record WHEN OLD.deleted = 1 AND NEW.deleted = 0 BEGIN ${usageChange("NEW", "+")} END;
  CREATE TRIGGER usage_gone AFTER UPDATE ON record WHEN OLD.deleted = 0 AND NEW.deleted = 1 BEGIN ${usageChange("OLD", "-")} END;
  CREATE TRIGGER usage_delete AFTER DELETE ON record WHEN OLD.deleted = 0 BEGIN ${usageChange("OLD", "-")} END;
  CREATE TRIGGER usage_size AFTER UPDATE ON record
    WHEN OLD.deleted = 0 AND NEW.deleted = 0 AND OLD.total_bytes <> NEW.total_bytes BEGIN
    UPDATE usage SET bytes = bytes + NEW.total_bytes - OLD.total_bytes WHERE owner = NEW.owner AND collection = NEW.collection;
  END;
  `,
];

/** The change of the usage of an owner when a record comes or goes; the row of one that has nothing goes too. */
function usageChange(row: "NEW" | "OLD", sign: "+" | "-"): string {
  return `INSERT INTO usage VALUES (${row}.owner, ${row}.collection, 1, ${row}.total_bytes)
      ON CONFLICT DO UPDATE SET items = items ${sign} excluded.items, bytes = bytes ${sign} excluded.bytes;
    DELETE FROM usage WHERE owner = ${row}.owner AND collection = ${row}.collection AND items = 0;`;
}

/**
 * Brings a database to the newest schema. Of several processes that do so at once one does it, and the others find it done.
 *
 * @throws Error for a database of something else, or of a newer version
 */
export function migrate(database: DatabaseSync): void {
  if (versionOf(database) === migrations.length) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    for (const migration of migrations.slice(versionOf(database))) database.exec(migration);
    database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}; COMMIT`);
  } catch (error) {
    database.exec("ROLLBACK");
    throw error;
  }
}

/** @throws Error for a database that this version would have to change before it can read it, or that `migrate` refuses */
export function assertVersion(database: DatabaseSync): void {
  const version = versionOf(database);
  if (version === migrations.length) return;
  throw new Error(
    `it has schema ${version}, and can only be read: open it once where it can be written, for schema ${migrations.length}`,
  );
}

function versionOf(database: DatabaseSync): number {
  const version = numberOf(database, "PRAGMA user_version");
  const id = numberOf(database, "PRAGMA application_id");
  const isEmpty = numberOf(database, "SELECT count(*) FROM sqlite_schema") === 0;
  if (id !== applicationId && !(id === 0 && version === 0 && isEmpty))
    throw new Error("it is a database of something else: give a file of its own");
  if (version > migrations.length) {
    const known = `this one knows schema ${migrations.length}, and the file has ${version}`;
    throw new Error(`it was made by a newer version of Toolweave: ${known}. Update Toolweave, or give another file`);
  }
  return version;
}

/** The one number a statement gives. */
function numberOf(database: DatabaseSync, sql: string): number {
  const [value] = Object.values(database.prepare(sql).get() ?? {});
  return typeof value === "number" ? value : 0;
}
