import type { ManifestKind } from "./manifest-port.ts";
import { toolKind } from "./tool-kind.ts";

/** The kinds of manifests, by the value of `kind`. */
export function kindsWith(executors: Parameters<typeof toolKind>[0]): Readonly<Record<string, ManifestKind>> {
  return { Tool: toolKind(executors) };
}
