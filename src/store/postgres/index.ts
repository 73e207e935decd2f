export type { PostgresClient, PostgresPool, PostgresQuery } from "./pool.ts";
export type { PostgresStoreOptions } from "./postgres-options.ts";
export { postgresStore } from "./postgres-store.ts";
