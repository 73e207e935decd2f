export type { PostgresStoreOptions } from "./options.ts";
export type { PostgresClient, PostgresPool, PostgresQuery } from "./pool.ts";
export { postgresStore } from "./store.ts";
