import { postgresStore } from "../../../src/store/postgres/index.ts";
import { quoted } from "../../../src/store/postgres/statements.ts";
import { type StoreSetup, type StoreSetupOptions, storeContract } from "../../contract/store.ts";
import { busContract } from "../../contract/store-bus.ts";
import { storeCrashContract } from "../../contract/store-crash.ts";
import { usePostgres } from "./support.ts";

const postgres = usePostgres();

async function setUp(options?: StoreSetupOptions): Promise<StoreSetup> {
  const schema = postgres.newSchema();
  const opened = async () => {
    const store = postgresStore({ connectionString: postgres.connectionString, schema, ...options });
    await store.open();
    return store;
  };
  return {
    store: await opened(),
    another: opened,
    spoil: async ({ collection, owner, key }, json) => {
      const text = `UPDATE ${quoted(schema)}.record SET value = $4 WHERE collection = $1 AND owner = $2 AND key = $3`;
      await postgres.admin.query(text, [collection, owner, key, json]);
    },
    dispose: () => postgres.drop(schema),
  };
}

storeContract("postgresStore", setUp);
busContract("postgresStore", setUp);

storeCrashContract("postgresStore", async () => {
  const schema = postgres.newSchema();
  const options = { connectionString: postgres.connectionString, schema, keepVersions: 1_000_000 };
  const module = new URL("../../../src/store/postgres/index.ts", import.meta.url).href;
  return {
    shared: { module, maker: "postgresStore", options },
    dispose: () => postgres.drop(schema),
  };
});
