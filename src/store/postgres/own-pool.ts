import type { PoolClient } from "pg";
import { ToolkitError } from "../../core/error.ts";
import type { PostgresSettings } from "./options.ts";
import type { PostgresPool } from "./pool.ts";

/** The longest wait for connections to end, where the other side may be gone. */
const patienceMs = 5_000;

/** @throws ToolkitError `MISSING_PEER` where pg is not installed */
export async function ownPool(settings: PostgresSettings): Promise<PostgresPool> {
  const { connectionString, max, ssl, connectTimeoutMs, statementTimeoutMs, clock } = settings;
  const { Pool } = (await importPg()).default;
  const pool = new Pool({
    connectionString,
    max,
    ...(ssl === undefined ? {} : { ssl }),
    connectionTimeoutMillis: connectTimeoutMs,
    statement_timeout: statementTimeoutMs,
    fallback_application_name: "toolweave",
    keepAlive: true,
  });
  const open = new Map<PoolClient, Promise<void>>();
  pool.on("connect", (client) => {
    const ended = new Promise<void>((resolve) => client.once("end", resolve));
    open.set(client, ended);
    void ended.then(() => open.delete(client));
  });
  return {
    connect: () => pool.connect(),
    on: (event, listener) => pool.on(event, listener),
    removeListener: (event, listener) => pool.removeListener(event, listener),
    // That of pg does not wait until they have ended.
    async end() {
      const late = Promise.withResolvers<void>();
      const timer = clock.setTimer(late.resolve, patienceMs);
      timer.keepAlive(true);
      await pool.end();
      await Promise.race([Promise.all(open.values()), late.promise]);
      timer.cancel();
    },
  };
}

async function importPg(): Promise<typeof import("pg")> {
  try {
    return await import("pg");
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== "ERR_MODULE_NOT_FOUND") throw error;
    const install = "npm install pg";
    const message = `postgresStore needs the package pg, which is not installed: ${install}.`;
    throw new ToolkitError("MISSING_PEER", message, { package: "pg", install }, { cause: error });
  }
}
