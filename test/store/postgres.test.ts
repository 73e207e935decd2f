import { Pool } from "pg";
import { afterAll, beforeAll } from "vitest";
import { postgresStore } from "../../src/store/postgres/index.ts";
import { quoted } from "../../src/store/postgres/statements.ts";
import { storeContract } from "../contract/store.ts";
import { anyPostgres } from "../support/postgres/postgres.ts";

let server: Awaited<ReturnType<typeof anyPostgres>>;
let admin: Pool;
let schemas = 0;
beforeAll(async () => {
  server = await anyPostgres();
  admin = new Pool({ connectionString: server.connectionString });
});
afterAll(async () => {
  await admin.end();
  await server[Symbol.asyncDispose]();
});

/** Each in a schema that nobody else has, on a server that tests may share. */
const newSchema = () => `toolweave "test" ${process.pid} ${schemas++}`;
const drop = (schema: string) => admin.query(`DROP SCHEMA IF EXISTS ${quoted(schema)} CASCADE`);

storeContract("postgresStore", async (options) => {
  const schema = newSchema();
  const opened = async () => {
    const store = postgresStore({ connectionString: server.connectionString, schema, ...options });
    await store.open();
    return store;
  };
  return {
    store: await opened(),
    another: opened,
    spoil: async ({ collection, owner, key }, json) => {
      const text = `UPDATE ${quoted(schema)}.record SET value = $4 WHERE collection = $1 AND owner = $2 AND key = $3`;
      await admin.query(text, [collection, owner, key, json]);
    },
    dispose: async () => {
      await drop(schema);
    },
  };
});
