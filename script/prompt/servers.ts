import type { McpServersConfig } from "../../src/core/target.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import { readJson } from "./command.ts";

/** Connects the MCP servers of a configuration file; one that cannot be connected is reported, and the others are used. */
export async function connectServers(toolkit: Toolkit, file: string, signal: AbortSignal): Promise<void> {
  const connections = toolkit.addConnectors(readJson(file) as McpServersConfig);
  signal.addEventListener("abort", () => void toolkit.close(), { once: true });
  await toolkit.start();
  for (const { namespace, state, lastError } of connections) {
    if (state === "connected") continue;
    process.stderr.write(`${namespace} is not connected${lastError === undefined ? "" : `: ${lastError.message}`}\n`);
  }
}
