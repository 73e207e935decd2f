export type { Root } from "../core/interaction.ts";
export type { NodeFetchOptions } from "../lib/fetch/http-client.ts";
export { nodeFetch } from "../lib/fetch/node-fetch.ts";
export { fileTokenStore } from "./auth/file-token-store.ts";
export { clientCredentials, oauth } from "./auth/oauth.ts";
export type {
  ClientCredentialsOptions,
  OAuthClient,
  OAuthOptions,
  OpenPage,
  TokenOptions,
} from "./auth/oauth-options.ts";
export type { StoredAuthorization, StoredClient, StoredTokens, TokenStore } from "./auth/token-store.ts";
export { memoryTokenStore } from "./auth/token-store.ts";
export type { ClientInfo } from "./handshake.ts";
export {
  type InMemoryConnectorOptions,
  inMemoryConnector,
  type McpConnectorOptions,
  mcpConnector,
} from "./mcp-connector.ts";
export type { ConnectorOptions } from "./open-session.ts";
export { type NamedConfig, parseMcpServers } from "./target/mcp-servers.ts";
export type { ServerFactory, ServerTransport } from "./transport/in-memory-transport.ts";
