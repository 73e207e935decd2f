import { anyPostgres } from "./postgres.ts";

/** One server for all test files that only use it, for as long as they run. */
export default async function setup(): Promise<() => Promise<void>> {
  const server = await anyPostgres();
  process.env.TOOLWEAVE_POSTGRES_URL = server.connectionString;
  return async () => server[Symbol.asyncDispose]();
}
