import type { Content } from "../core/resource.ts";
import { isRecord } from "../lib/value.ts";

/** URIs of the resources a result holds or links to, each once, in order: what a reader can follow. */
export function referencesOf(content: Content): readonly string[] {
  const mcp = content.meta?.mcp;
  const blocks = isRecord(mcp) && Array.isArray(mcp.content) ? mcp.content.filter(isRecord) : [];
  const linked = blocks.map(({ type, uri, resource }) => {
    if (type === "resource_link") return uri;
    return type === "resource" && isRecord(resource) ? resource.uri : undefined;
  });
  const own = (content.parts ?? []).map(({ uri }) => uri).filter((uri) => !/^(text|json|data):/.test(uri));
  return [...new Set([...linked, ...own])].filter((uri) => typeof uri === "string");
}
