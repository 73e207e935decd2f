export type {
  ClientHandler,
  ManifestContext,
  ManifestExecutor,
  ManifestRun,
  ManifestTool,
  ParsedManifest,
} from "./manifest-port.ts";
