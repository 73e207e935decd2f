import { anyPostgres } from "./postgres.ts";

/** One server for all test files that only use it, for as long as they run. Where none can be run, each of them says why. */
export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  const server = await anyPostgres().catch(() => undefined);
  if (server === undefined) return undefined;
  process.env.TOOLWEAVE_POSTGRES_URL = server.connectionString;
  return async () => server[Symbol.asyncDispose]();
}
