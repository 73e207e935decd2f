/**
 * A gateway in a process of its own: `ours` or `sdk`, in front of HTTP servers (their URLs as JSON) or of so many stdio servers (a number).
 * Prints its URL, and for each line that comes the CPU time it has taken, in microseconds; ends when stdin does.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import {
  CallToolRequestSchema,
  CallToolResultSchema,
  ListToolsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { createMcpHandler } from "../../../src/server/index.ts";
import { Toolkit } from "../../../src/toolkit/toolkit.ts";
import { rawHttpClient, rawStdioClient, stdioServer } from "../raw.ts";

const [side = "", json = "1"] = process.argv.slice(2);
const given: number | readonly string[] = JSON.parse(json);
const upstreams = typeof given === "number" ? Array.from({ length: given }, () => stdioServer) : given;
const listener = side === "ours" ? await ours() : await handWritten();
const http = createServer(listener).listen(0, "127.0.0.1", () => {
  process.stdout.write(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp\n`);
});
createInterface(process.stdin)
  .on("line", () => {
    const { user, system } = process.cpuUsage();
    process.stdout.write(`${user + system}\n`);
  })
  .once("close", () => process.exit(0));

async function ours(): Promise<RequestListener> {
  const toolkit = new Toolkit();
  for (const [at, upstream] of upstreams.entries()) toolkit.addConnector(upstream, { namespace: `bench${at}` });
  await toolkit.start();
  return createMcpHandler(toolkit).node;
}

/** As one would write it with the SDK: sessions, a client for each upstream server, and names with the number of the server before them. */
async function handWritten(): Promise<RequestListener> {
  const clients = await Promise.all(
    upstreams.map((upstream) => (typeof upstream === "string" ? rawHttpClient(upstream) : rawStdioClient())),
  );
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const known = sessions.get(String(request.headers["mcp-session-id"]));
    if (known !== undefined) return known.handleRequest(request, response);
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: true,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    // The SDK declares optional properties in another strictness than ours.
    await proxyOf(clients).connect(transport as Transport);
    return transport.handleRequest(request, response);
  };
  return (request, response) => void answer(request, response);
}

function proxyOf(clients: readonly Client[]): Server {
  const server = new Server({ name: "proxy", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    const lists = await Promise.all(clients.map((client) => client.listTools()));
    return {
      tools: lists.flatMap(({ tools }, at) => tools.map((tool) => ({ ...tool, name: `bench${at}__${tool.name}` }))),
    };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { signal }) => {
    const [, at, name] = /^bench(\d+)__(.*)$/.exec(params.name) ?? [];
    const client = clients[Number(at)];
    if (client === undefined || name === undefined) throw new Error(`There is no tool ${params.name}.`);
    return client.request({ method: "tools/call", params: { ...params, name } }, CallToolResultSchema, { signal });
  });
  return server;
}
