import type { ServerInfo } from "../core/connection.ts";
import { ToolkitError } from "../core/error.ts";
import { packageVersion } from "../lib/package.ts";
import { isRecord } from "../lib/value.ts";
import type { Redactor } from "./redact.ts";
import type { Peer } from "./rpc/peer.ts";
import { RpcError } from "./rpc/rpc-error.ts";
import { parseText } from "./rpc/rpc-message.ts";
import { declaresNotifications } from "./session-wire.ts";
import type { Transport } from "./transport/transport.ts";
import { supportedIn, unsupportedProtocol } from "./unsupported-protocol.ts";

/** The revisions of MCP with a handshake that this connector speaks, the newest first. */
export const protocolVersions: readonly string[] = [
  "2025-11-25",
  "2025-06-18",
  "2025-03-26",
  "2024-11-05",
  "2024-10-07",
];

/** The name and version a client reports. */
export interface ClientInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string | undefined;
}

/** The fields of the handshake. */
export interface HandshakeOptions {
  readonly clientInfo: ClientInfo;
  readonly capabilities: Readonly<Record<string, unknown>>;
  /** The server, until its name is known. */
  readonly label: string;
  /** Redacts quotes of the server. */
  readonly redactor: Redactor;
}

/** The outcome of a handshake. */
export interface ShakenHands {
  readonly server: ServerInfo;
  /** Resolves when notifications can arrive, or never will. Never rejects. */
  readonly opening: Promise<void> | undefined;
}

/**
 * Agrees with a server on a revision, and learns its name and capabilities.
 *
 * @throws ToolkitError `REMOTE_ERROR` for an answer that makes no sense, `UNSUPPORTED_PROTOCOL` for another revision; whatever the request
 *   throws
 * @see https://modelcontextprotocol.io/specification/2025-11-25/basic/lifecycle#initialization
 */
export async function shakeHands(peer: Peer, transport: Transport, options: HandshakeOptions): Promise<ShakenHands> {
  const { clientInfo, capabilities, label, redactor } = options;
  const params = { protocolVersion: protocolVersions[0], capabilities, clientInfo };
  const result = await peer.request("initialize", params).catch((error: unknown) => {
    const supported = error instanceof RpcError ? supportedIn(error.data) : undefined;
    throw supported === undefined
      ? error
      : unsupportedProtocol(supported, { label, redactor, spoken: protocolVersions });
  });
  if (!isRecord(result) || typeof result.protocolVersion !== "string") {
    throw new ToolkitError("REMOTE_ERROR", `${label} answered initialize without a protocol version.`, {
      server: label,
    });
  }
  const { protocolVersion } = result;
  if (!protocolVersions.includes(protocolVersion)) {
    throw unsupportedProtocol([protocolVersion], { label, redactor, spoken: protocolVersions });
  }
  transport.negotiated?.(protocolVersion);
  const server = serverInfoOf(result, protocolVersion, options);
  const initialized = peer.notify("notifications/initialized");
  // Beside each other: a server that is far away is asked once less before it lists anything.
  const opening = transport.ready?.(initialized);
  await initialized;
  // A change after a list and before the stream of notifications would be lost. Where none is declared the stream opens beside the lists: over
  // TLS its connection takes as long as three requests.
  if (declaresNotifications(server.capabilities)) await opening;
  return { server, opening };
}

/** The description that a server gives of itself, in the fields of a result. */
export function serverInfoOf(
  { serverInfo, instructions, capabilities }: Readonly<Record<string, unknown>>,
  protocolVersion: string,
  { label, redactor }: Pick<HandshakeOptions, "label" | "redactor">,
): ServerInfo {
  const info = isRecord(serverInfo) ? serverInfo : {};
  return redactor.described({
    name: parseText(info.name)?.slice(0, maxNameLength) ?? label,
    version: parseText(info.version)?.slice(0, maxNameLength),
    title: parseText(info.title)?.slice(0, maxNameLength),
    description: parseText(info.description)?.slice(0, maxDescriptionLength),
    instructions: parseText(instructions),
    protocolVersion,
    capabilities: isRecord(capabilities) ? capabilities : {},
  });
}

/** Names go into messages and logs. */
const maxNameLength = 256;
const maxDescriptionLength = 4_000;

let ownInfo: ClientInfo | undefined;

/** Toolweave itself, with the version of its package. */
export function ownClientInfo(): ClientInfo {
  ownInfo ??= { name: "toolweave", version: packageVersion() };
  return ownInfo;
}
