import type { Source } from "../../core/source.ts";
import { type PackHost, packOf } from "../pack.ts";
import { fetchTool } from "./fetch-tool.ts";
import { type HttpPackConfig, readHttpConfig } from "./http-config.ts";

export type { PackHost } from "../pack.ts";
export type { HttpPackConfig } from "./http-config.ts";

/**
 * The web pack: `fetch`, which reads public addresses and those that `egress` names, of the hosts that `allow` and `deny` leave. Each redirect is
 * put to the same rules, and a name to its addresses when a socket connects. Size, time and redirects are bounded; nothing of the service,
 * such as a cookie or a token, is sent.
 *
 * @throws ToolkitError `INVALID_CONFIG`
 */
export function httpPack(config: HttpPackConfig = {}): Source {
  return packOf([fetchTool(readHttpConfig(config))]);
}

/**
 * Adds the web pack to a toolkit; disposing of what is returned takes it away.
 *
 * @throws ToolkitError `INVALID_CONFIG`, `INVALID_NAME`, `RESERVED_NAME` or `CONFLICT`
 */
export function registerWith(host: PackHost, config: HttpPackConfig = {}): Disposable {
  return host.addSource(config.namespace ?? "http", httpPack(config));
}
