import { spawnSync } from "node:child_process";
import { access, mkdir, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { project } from "../../script/support/project.ts";

const versions = {
  "@langchain/core": "1.2.13",
  "@langchain/langgraph": "1.4.10",
  "@langchain/mcp-adapters": "1.1.4",
};

/** What the benches use of LangChain's client of several MCP servers. */
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
  if (process.env.BENCH_PEERS !== "1") return undefined;
  const folder = join(project, ".bench/peers/langchain");
  await install(folder);
  const path = createRequire(join(folder, "package.json")).resolve("@langchain/mcp-adapters");
  const { MultiServerMCPClient } = await import(pathToFileURL(path).href);
  const mcpServers = Object.fromEntries(urls.map((url, at) => [`bench${at}`, { transport: "http", url }]));
  const client: LangChainClient = new MultiServerMCPClient({ mcpServers });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

async function install(folder: string): Promise<void> {
  const installed = await access(join(folder, "node_modules/@langchain/mcp-adapters")).then(
    () => true,
    () => false,
  );
  if (installed) return;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, "package.json"), JSON.stringify({ private: true, dependencies: versions }));
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status } = spawnSync(npm, ["install", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: folder,
    stdio: "inherit",
  });
  if (status !== 0) throw new Error("LangChain's adapters could not be installed.");
}
