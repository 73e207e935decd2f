export type { ConnectorOptions, Root } from "./connect.ts";
export { inMemoryConnector, type McpConnectorOptions, mcpConnector } from "./connector.ts";
export { type NodeFetchOptions, nodeFetch } from "./fetch/node-fetch.ts";
export type { ClientInfo } from "./handshake.ts";
export { type NamedConfig, parseMcpServers } from "./target/mcp-servers.ts";
export type { ServerFactory, ServerTransport } from "./transport/in-memory.ts";
