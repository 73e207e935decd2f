import { ToolkitError } from "../../core/error.ts";
import type { PostgresSession } from "./connections.ts";
import { schemaSteps } from "./schema-steps.ts";
import { quoted } from "./statements.ts";

/**
 * Brings the schema up to date. Of several processes that start at once one does it, and the others wait.
 *
 * @throws ToolkitError `STORE_FAILED` for a schema of a newer version of this package, and a database that cannot hold all texts
 */
export async function migrate(session: PostgresSession, schema: string): Promise<void> {
  await assertSettings(session);
  if ((await versionOf(session, schema)) === schemaSteps.length) return;
  await session.query("BEGIN");
  try {
    await migrateLocked(session, schema);
    await session.query("COMMIT");
  } catch (error) {
    await session.query("ROLLBACK");
    throw error;
  }
}

async function migrateLocked(session: PostgresSession, schema: string): Promise<void> {
  const inSchema = quoted(schema);
  await session.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [schema]);
  // A role that may use a schema need not be allowed to create one.
  const [made] = await session.query("SELECT to_regnamespace($1)::text AS name", [inSchema]);
  if (made?.name === null) await session.query(`CREATE SCHEMA ${inSchema}`);
  await session.query(`CREATE TABLE IF NOT EXISTS ${inSchema}.migration (
    version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())`);
  const version = await versionOf(session, schema);
  for (const [index, step] of schemaSteps.entries()) {
    if (index < version) continue;
    await session.query(step(inSchema));
    await session.query(`INSERT INTO ${inSchema}.migration (version) VALUES ($1)`, [index + 1]);
  }
}

/** 0 where there is none. */
async function versionOf(session: PostgresSession, schema: string): Promise<number> {
  const table = `${quoted(schema)}.migration`;
  const [found] = await session.query("SELECT to_regclass($1)::text AS name", [table]);
  if (found?.name === null) return 0;
  const [row] = await session.query(`SELECT coalesce(max(version), 0) AS version FROM ${table}`);
  const version = Number(row?.version);
  if (version <= schemaSteps.length) return version;
  throw failed(
    `The schema ${quoted(schema)} has version ${version}, and this version of Toolweave knows up to ${schemaSteps.length}. Update Toolweave.`,
  );
}

async function assertSettings(session: PostgresSession): Promise<void> {
  const [settings] = await session.query(
    "SELECT current_setting('server_encoding') AS encoding, current_setting('transaction_isolation') AS isolation",
  );
  if (settings?.encoding !== "UTF8")
    throw failed(
      `The database has the encoding ${settings?.encoding}, which cannot hold all texts. Make one with ENCODING 'UTF8'.`,
    );
  // In a stricter one a statement sees what was there when it began, not what is there once it has the lock.
  if (settings?.isolation !== "read committed")
    throw failed(
      `The transactions of this user are ${settings?.isolation} by default. Set default_transaction_isolation to 'read committed' for it.`,
    );
}

function failed(message: string): ToolkitError<"STORE_FAILED"> {
  return new ToolkitError("STORE_FAILED", message, { operation: "open" });
}
