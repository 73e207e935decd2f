import { readFileSync } from "node:fs";
import type { ServerInfo } from "../core/connection.ts";
import { messageOf, ToolkitError } from "../core/error.ts";
import { ConnectionLostError, RpcError } from "./rpc/error.ts";
import type { Peer } from "./rpc/peer.ts";
import { HttpStatusError, NotMcpError } from "./transport/http/status.ts";
import type { Transport } from "./transport/transport.ts";

/** Who we say we are. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string | undefined;
}

/**
 * Connects and learns who the server is.
 *
 * @throws ToolkitError `REMOTE_ERROR` for an answer that makes no sense or a revision that is none of ours; whatever the transport throws
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
 */
export async function shakeHands(peer: Peer, transport: Transport, label: string): Promise<ServerInfo> {
  const greeting = await peer.connect().catch((error: unknown) => {
    throw isKnown(error) ? error : badAnswer(error, label);
  });
  await transport.ready?.();
  return { ...greeting, name: greeting.name ?? label };
}

function isKnown(error: unknown): boolean {
  return [ConnectionLostError, HttpStatusError, NotMcpError, RpcError, ToolkitError].some(
    (type) => error instanceof type,
  );
}

function badAnswer(cause: unknown, label: string): ToolkitError<"REMOTE_ERROR"> {
  const message = `${label} answered initialize with what is not to be understood: ${messageOf(cause)}`;
  return new ToolkitError("REMOTE_ERROR", message, { server: label }, { cause });
}

let ownInfo: ClientInfo | undefined;

/** Toolweave itself, with the version of its package. */
export function ownClientInfo(): ClientInfo {
  ownInfo ??= { name: "toolweave", version: packageVersion() };
  return ownInfo;
}

function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { readonly version: string }).version;
}
