import type { ManifestExecutor } from "./manifest-port.ts";

/** The modes of this package, by name. What some of them need is loaded with their first manifest. */
export const modes: Readonly<Record<string, ManifestExecutor>> = {
  live: async (manifest, context) => (await import("./http/live.ts")).live(manifest, context),
  mock: async (manifest, context) => (await import("./mock/mock.ts")).mock(manifest, context),
  exec: async (manifest, context) => (await import("./exec/exec.ts")).exec(manifest, context),
  client: async (manifest, context) => (await import("./relayed-modes.ts")).client(manifest, context),
  mcp: async (manifest, context) => (await import("./relayed-modes.ts")).mcp(manifest, context),
};
