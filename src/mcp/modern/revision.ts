/** The revision without sessions that is spoken here. */
export const modernVersion = "2026-07-28";

const prefix = "io.modelcontextprotocol/";

/** The reserved fields of `_meta`. */
export const metaKeys = {
  protocolVersion: `${prefix}protocolVersion`,
  clientInfo: `${prefix}clientInfo`,
  clientCapabilities: `${prefix}clientCapabilities`,
  serverInfo: `${prefix}serverInfo`,
  logLevel: `${prefix}logLevel`,
} as const;

/** The error codes of that revision. */
export const modernCodes = {
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** True for an error code that only a server of that revision or a later one gives. */
export function isModernCode(code: unknown): boolean {
  return Object.values<unknown>(modernCodes).includes(code);
}
