export { type NodeFetchOptions, nodeFetch } from "../lib/fetch/node-fetch.ts";
export { fileTokenStore } from "./auth/file-store.ts";
export { memoryTokenStore } from "./auth/memory-store.ts";
export { clientCredentials, oauth } from "./auth/oauth.ts";
export type { ClientCredentialsOptions, OAuthClient, OAuthOptions, OpenPage, TokenOptions } from "./auth/options.ts";
export type { StoredAuthorization, StoredClient, StoredTokens, TokenStore } from "./auth/store.ts";
export type { ConnectorOptions, Root } from "./connect.ts";
export {
  type InMemoryConnectorOptions,
  inMemoryConnector,
  type McpConnectorOptions,
  mcpConnector,
} from "./connector.ts";
export type { ClientInfo } from "./handshake.ts";
export { type NamedConfig, parseMcpServers } from "./target/mcp-servers.ts";
export type { ServerFactory, ServerTransport } from "./transport/in-memory.ts";
