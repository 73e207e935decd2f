import { createRequire } from "node:module";

/** A real MCP server as a child process. */
export const server = {
  command: process.execPath,
  args: [createRequire(import.meta.url).resolve("@modelcontextprotocol/server-everything/dist/index.js")],
};
