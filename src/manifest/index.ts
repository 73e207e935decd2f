export { manifestEditorSchema } from "./kinds.ts";
export type {
  ClientHandler,
  ManifestContext,
  ManifestExecutor,
  ManifestRun,
  ManifestTool,
  ParsedManifest,
} from "./manifest-port.ts";
export type { GivenManifest } from "./manifest-set.ts";
export { type ManifestHost, type ManifestOptions, type MountedManifests, registerWith } from "./mount-manifests.ts";
