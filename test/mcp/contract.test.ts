import { fileURLToPath } from "node:url";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { inMemoryConnector, mcpConnector } from "../../src/mcp/index.ts";
import { connectorContract } from "../contract/connector.ts";
import { contextOf } from "./fixture/host.ts";
import { listen, sseFixture, streamableFixture } from "./fixture/http.ts";
import { createModernFixture, listenModern } from "./fixture/modern-server.ts";
import { createFixture } from "./fixture/server.ts";

const modernStdioServer = fileURLToPath(new URL("fixture/modern-stdio.ts", import.meta.url));
const stdioServer = fileURLToPath(new URL("fixture/stdio.ts", import.meta.url));

connectorContract("in-memory", "in-memory", async () => {
  const fixture = createFixture();
  const servers: McpServer[] = [];
  const connector = inMemoryConnector((transport) => {
    const server = fixture.create();
    servers.push(server);
    return server.connect(transport);
  });
  return {
    connector,
    lose: async () => servers[0]?.close(),
    dispose: async () => {
      for (const server of servers) await server.close();
    },
  };
});

connectorContract("stdio", "stdio", async () => ({
  connector: mcpConnector({ command: process.execPath, args: ["--no-warnings", stdioServer] }),
  lose: async (session) => {
    const pid = await session.call("pid", {}, contextOf());
    process.kill(Number(await pid.text()), "SIGKILL");
  },
  dispose: async () => {},
}));

connectorContract("Streamable HTTP", "streamable-http", async () => {
  const listening = await listen(streamableFixture().handler);
  return {
    connector: mcpConnector(`${listening.origin}/mcp`),
    lose: () => listening.close(),
    dispose: () => listening.close(),
  };
});

connectorContract("SSE", "sse", async () => {
  const listening = await listen(sseFixture());
  return {
    connector: mcpConnector(`${listening.origin}/sse`),
    lose: () => listening.close(),
    dispose: () => listening.close(),
  };
});

connectorContract(
  "in-memory, without sessions",
  "in-memory",
  async () => {
    const fixture = createModernFixture();
    const handles: { close(): Promise<void> }[] = [];
    const connector = inMemoryConnector((transport) => {
      const options = { transport: transport as never, legacy: "reject" } as const;
      handles.push(serveStdio(() => fixture.create(), options));
    });
    return {
      connector,
      lose: async () => handles[0]?.close(),
      dispose: async () => {
        for (const handle of handles) await handle.close();
      },
    };
  },
  "2026-07-28",
);

connectorContract(
  "stdio, without sessions",
  "stdio",
  async () => ({
    connector: mcpConnector({ command: process.execPath, args: ["--no-warnings", modernStdioServer] }),
    lose: async (session) => {
      const pid = await session.call("pid", {}, contextOf());
      process.kill(Number(await pid.text()), "SIGKILL");
    },
    dispose: async () => {},
  }),
  "2026-07-28",
);

connectorContract(
  "Streamable HTTP, without sessions",
  "streamable-http",
  async () => {
    const listening = await listenModern(createModernFixture());
    return {
      connector: mcpConnector(`${listening.origin}/mcp`),
      lose: () => listening.close(),
      dispose: () => listening.close(),
    };
  },
  "2026-07-28",
);
