import { postgresStore } from "../../src/store/postgres/index.ts";
import { jobsContract } from "../contract/jobs.ts";
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
