import { fileURLToPath } from "node:url";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { inMemoryConnector, mcpConnector } from "../../src/mcp/index.ts";
import { connectorContract } from "../contract/connector.ts";
import { contextOf } from "./fixture/host.ts";
import { listen, sseFixture, streamableFixture } from "./fixture/http.ts";
import { createFixture } from "./fixture/server.ts";

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
