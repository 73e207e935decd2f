export type {
  AuditRecord,
  ServableHost,
  ServedInfo,
  ServeOptions,
} from "./serve-options.ts";
export { type ServeStdioOptions, type StdioService, serveStdio } from "./stdio/serve-stdio.ts";
