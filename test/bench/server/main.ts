/**
 * The servers of the benches in a process of their own: `stdio`, or `http` and its options as JSON, which prints the URLs in
 * one line of JSON. Ends when stdin does.
 */
import { randomUUID } from "node:crypto";
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { bareServer } from "./bare.ts";
import { createServer, type Offer } from "./tools.ts";

/** The options of HTTP servers. */
export interface HttpOptions extends Offer {
  /** The number of servers. Default: 1. */
  readonly count?: number;
  /** The form of answers to POSTs. Default: json. */
  readonly answers?: "json" | "sse";
  /** Servers that do as little as they can, for lists alone, instead of those of the SDK. Default: false. */
  readonly bare?: boolean;
}

const [mode, json = "{}"] = process.argv.slice(2);
const { count = 1, answers = "json", bare = false, ...offer }: HttpOptions = JSON.parse(json);
if (mode === "stdio") {
  await createServer("bench").connect(new StdioServerTransport());
} else {
  const urls = await Promise.all(Array.from({ length: count }, (_, at) => listen(`bench${at}`)));
  process.stdout.write(`${JSON.stringify(urls)}\n`);
  process.stdin.resume().once("end", () => process.exit(0));
}

async function listen(name: string): Promise<string> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const whole: RequestListener = (request, response) => void answer(name, sessions, request, response);
  const http = createHttpServer(bare ? bareServer(name, offer) : whole);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

async function answer(
  name: string,
  sessions: Map<string, StreamableHTTPServerTransport>,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const id = request.headers["mcp-session-id"];
  const known = typeof id === "string" ? sessions.get(id) : undefined;
  if (known !== undefined) return known.handleRequest(request, response);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: answers === "json",
    onsessioninitialized: (session) => {
      sessions.set(session, transport);
    },
  });
  // The SDK declares optional properties in another strictness than ours.
  await createServer(name, offer).connect(transport as Transport);
  await transport.handleRequest(request, response);
}
