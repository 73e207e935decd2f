import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A way to a server of PostgreSQL that can be made to lead nowhere. */
export interface Network extends AsyncDisposable {
  readonly connectionString: string;
  /** From now on nothing arrives and nothing is said about it; with false, new connections work again. Old ones are lost. */
  swallow(isSwallowed: boolean): void;
  /** Ends every connection, and each new one at once; with false, new ones work again. */
  cut(isCut: boolean): void;
}

const file = ".s.PGSQL.5432";

/** @param connectionString - of a server on a socket */
export async function networkTo(connectionString: string): Promise<Network> {
  const url = new URL(connectionString);
  const target = join(decodeURIComponent(url.hostname), file);
  const folder = await mkdtemp(join(tmpdir(), "toolweave-network-"));
  const lines = new Set<{ readonly sockets: readonly Socket[]; isSwallowed: boolean }>();
  let isSwallowed = false;
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(target);
    const line = { sockets: [near, far], isSwallowed };
    lines.add(line);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on("data", (data) => line.isSwallowed || to.write(data));
      from.on("error", () => undefined);
      from.on("close", () => line.isSwallowed || to.destroy());
    }
  });
  const destroyAll = () => {
    for (const { sockets } of lines) for (const socket of sockets) socket.destroy();
  };
  server.listen(join(folder, file));
  await once(server, "listening");
  url.hostname = encodeURIComponent(folder);
  return {
    connectionString: url.href,
    swallow(now) {
      isSwallowed = now;
      if (now) for (const line of lines) line.isSwallowed = true;
    },
    cut(now) {
      isCut = now;
      if (now) destroyAll();
    },
    async [Symbol.asyncDispose]() {
      destroyAll();
      server.close();
      await once(server, "close");
      await rm(folder, { recursive: true });
    },
  };
}
