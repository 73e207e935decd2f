import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { HttpOptions } from "./server/main.ts";
import { createServer, type Offer } from "./server/tools.ts";

/** The file that runs the bench servers in a process of its own. */
const serverFile = fileURLToPath(new URL("./server/main.ts", import.meta.url));

/** The command of the stdio server, for both sides. */
export const stdioServer = { command: process.execPath, args: [serverFile, "stdio"] };

/** The SDK's own client, connected. */
async function rawClient(transport: Transport): Promise<Client> {
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(transport);
  return client;
}

/** The SDK's own client of a server in this process. */
export async function rawInMemoryClient(offer: Offer = {}): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  await createServer("bench", offer).connect(far);
  return rawClient(near);
}

/** The SDK's own client of a server in a child process. */
export function rawStdioClient(): Promise<Client> {
  return rawClient(new StdioClientTransport(stdioServer));
}

/** The SDK's own client of an HTTP server. */
export function rawHttpClient(url: string): Promise<Client> {
  // The SDK declares optional properties in another strictness than ours.
  return rawClient(new StreamableHTTPClientTransport(new URL(url)) as Transport);
}

/** HTTP servers in one child process. */
export interface HttpServers extends AsyncDisposable {
  readonly urls: readonly string[];
}

/** Starts HTTP servers and waits until they listen. */
export async function startHttpServers(options: HttpOptions = {}): Promise<HttpServers> {
  const args = [serverFile, "http", JSON.stringify(options)];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const [line] = await once(createInterface(child.stdout), "line");
  return { urls: JSON.parse(line), [Symbol.asyncDispose]: () => end(child) };
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, "exit");
  child.stdin?.end();
  await ended;
}
