import { pathToFileURL } from "node:url";
import { arePeersWanted, installPeer } from "./peer.ts";

const versions = {
  "@langchain/core": "1.2.13",
  "@langchain/langgraph": "1.4.10",
  "@langchain/mcp-adapters": "1.1.4",
};

/** The part of LangChain's client of several MCP servers that the benches use. */
export interface LangChainClient {
  getTools(): Promise<readonly unknown[]>;
  close(): Promise<void>;
}

/**
 * Runs something with LangChain's MCP adapters connected to some servers. They are no dependency: with BENCH_PEERS=1 they are
 * installed, in these versions, into `.bench/peers`; else nothing runs and nothing is returned.
 */
export async function withLangChain<T>(
  urls: readonly string[],
  use: (client: LangChainClient) => Promise<T>,
): Promise<T | undefined> {
  if (!arePeersWanted) return undefined;
  const installed = await installPeer("langchain", versions);
  const path = installed.resolve("@langchain/mcp-adapters");
  const { MultiServerMCPClient } = await import(pathToFileURL(path).href);
  const mcpServers = Object.fromEntries(urls.map((url, at) => [`bench${at}`, { transport: "http", url }]));
  const client: LangChainClient = new MultiServerMCPClient({ mcpServers });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}
