import { postgresStore } from "../../src/store/postgres/index.ts";
import { quoted } from "../../src/store/postgres/statements.ts";
import { jobsContract } from "../contract/jobs.ts";
import { jobsCrashContract } from "../contract/jobs-crash.ts";
import { usePostgres } from "../store/postgres/support.ts";

const postgres = usePostgres();

jobsContract("PostgreSQL", async () => {
  const schema = postgres.newSchema();
  const opened = async () => {
    const store = postgresStore({ connectionString: postgres.connectionString, schema });
    await store.open();
    return store;
  };
  return { store: await opened(), another: opened, dispose: () => postgres.drop(schema) };
});

jobsCrashContract("PostgreSQL", async () => {
  const schema = postgres.newSchema();
  const options = { connectionString: postgres.connectionString, schema, statementTimeoutMs: 200 };
  const module = new URL("../../src/store/postgres/index.ts", import.meta.url).href;
  return {
    shared: { module, maker: "postgresStore", options },
    outage: async () => {
      const client = await postgres.admin.connect();
      await client.query("BEGIN");
      await client.query(`LOCK TABLE ${quoted(schema)}.record IN ACCESS EXCLUSIVE MODE`);
      return async () => {
        await client.query("ROLLBACK");
        client.release();
      };
    },
    dispose: () => postgres.drop(schema),
  };
});
