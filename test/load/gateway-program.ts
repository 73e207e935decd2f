import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Toolkit } from "../../src/index.ts";
import { createMcpHandler } from "../../src/server/index.ts";
import { type Upstream, watcherPrefix } from "./traffic.ts";

/** The state of the gateway's process, in bytes and seconds. */
export interface GatewayUse {
  readonly heap: number;
  readonly rss: number;
  readonly cpuSeconds: number;
  readonly sessions: number;
}

/*
 * The served Toolkit of `npm run load`, in a process of its own, so that its memory and time are its own. Its parent says which upstream servers
 * there are, asks for its use, and ends it by disconnecting.
 */
process.once("message", async ({ upstreams }: { readonly upstreams: readonly Upstream[] }) => {
  const toolkit = new Toolkit({ timeoutMs: 5_000 });
  for (const { namespace, target } of upstreams)
    toolkit.addConnector(target, {
      namespace,
      retryMs: 50,
      maxRetryMs: 500,
      healthCheckMs: 10_000,
      connectTimeoutMs: 5_000,
    });
  await toolkit.start();
  const handler = createMcpHandler(toolkit, {
    authenticate: (request) => request.headers.get("x-principal") ?? undefined,
    selection: ({ principal = "" }) => (principal.startsWith(watcherPrefix) ? { include: ["lists.*"] } : undefined),
  });
  // No connection that a client is about to use is ended as idle.
  const server = createServer({ keepAliveTimeout: 600_000 }, handler.node).listen(0, "127.0.0.1");
  server.once("listening", () => process.send?.({ port: (server.address() as AddressInfo).port }));
  process.on("message", ({ isExact }: { readonly isExact: boolean }) => {
    if (isExact) globalThis.gc?.();
    const { heapUsed: heap, rss } = process.memoryUsage();
    const { user, system } = process.cpuUsage();
    process.send?.({ heap, rss, cpuSeconds: (user + system) / 1e6, sessions: handler.sessions } satisfies GatewayUse);
  });
  process.once("disconnect", async () => {
    await handler.close();
    server.closeAllConnections();
    server.close();
    await toolkit.close();
  });
});
