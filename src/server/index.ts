export type {
  McpHandlerOptions,
  OAuthProtection,
  RequestRate,
  VerifiedToken,
} from "./http/handler-options.ts";
export { createMcpHandler, type McpHandler } from "./http/mcp-handler.ts";
export type {
  AuditRecord,
  ServableHost,
  ServedInfo,
  ServedProtocol,
  ServeOptions,
} from "./serve-options.ts";
export { type ServeStdioOptions, type StdioService, serveStdio } from "./stdio/serve-stdio.ts";
