import { randomUUID } from "node:crypto";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { LATEST_PROTOCOL_VERSION } from "@modelcontextprotocol/sdk/types.js";
import { capabilitiesOf, listsOf, type Offer } from "./tools.ts";

const json = { "content-type": "application/json" };

/**
 * Answers as an MCP server does, with as little work as that takes: a client that is measured on a machine with two cores waits for a server
 * of the SDK longer than it works itself.
 */
export function bareServer(name: string, offer: Offer): RequestListener {
  const lists = Object.entries(listsOf(offer)).map(([method, result]) => [method, JSON.stringify(result)] as const);
  const serverInfo = { name, version: "1.0.0" };
  const initialized = { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities: capabilitiesOf(offer), serverInfo };
  const results = new Map<unknown, string>([...lists, ["initialize", JSON.stringify(initialized)]]);
  return (request, response) => {
    if (request.method === "GET") response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    else if (request.method === "DELETE") response.writeHead(200).end();
    else void answer(request, response, results);
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  results: ReadonlyMap<unknown, string>,
): Promise<void> {
  const { id, method } = JSON.parse(await text(request));
  const result = results.get(method);
  if (id === undefined) response.writeHead(202).end();
  else if (result === undefined) {
    const error = { code: -32600, message: "Bad Request: Server not initialized" };
    response.writeHead(400, json).end(JSON.stringify({ jsonrpc: "2.0", id, error }));
  } else {
    const session = method === "initialize" ? { ...json, "mcp-session-id": randomUUID() } : json;
    response.writeHead(200, session).end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`);
  }
}
