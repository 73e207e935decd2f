import { type LogLevel, logLevels } from "../../core/session.ts";
import { isRecord, present } from "../../lib/value.ts";
import { protocolVersions } from "../../mcp/handshake.ts";
import { metaKeys, modernCodes, modernVersion } from "../../mcp/modern/revision.ts";
import { RpcError } from "../../mcp/rpc/rpc-error.ts";
import { parseText } from "../../mcp/rpc/rpc-message.ts";
import type { ClientFacts } from "../request-session.ts";
import type { ServedProtocol } from "../serve-options.ts";
import { invalidParams } from "../wire/error-form.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The facts that a request without a session says of its client, in place of a handshake. */
export interface RequestEnvelope extends ClientFacts {
  /** The least level of the log messages of this request; undefined where the client wants none. */
  readonly logLevel: LogLevel | undefined;
  readonly progressToken: string | number | undefined;
}

/** True for the parameters of a request that names its revision: the eras are told apart by this alone. */
export function namesRevision(params: unknown): boolean {
  return isRecord(params) && isRecord(params._meta) && params._meta[metaKeys.protocolVersion] !== undefined;
}

/** The revisions that are spoken with clients, the newest first. */
export function spokenRevisions(protocol: ServedProtocol): readonly string[] {
  if (protocol === "auto") return [modernVersion, ...protocolVersions];
  return protocol === modernVersion ? [modernVersion] : protocolVersions;
}

/** The error for a client that wants another revision. */
export function unsupportedRevision(requested: unknown, protocol: ServedProtocol): RpcError {
  const supported = spokenRevisions(protocol);
  return new RpcError({
    code: modernCodes.unsupportedVersion,
    message: `Unsupported protocol version: this server speaks ${supported.join(", ")}.`,
    data: present({ supported, requested: typeof requested === "string" ? requested : undefined }),
  });
}

/** Reads the envelope of a request. @throws RpcError for another revision, and for a field that is missing or not what it must be */
export function readEnvelope(method: string, params: Fields, protocol: ServedProtocol): RequestEnvelope {
  const meta = isRecord(params._meta) ? params._meta : {};
  const version = meta[metaKeys.protocolVersion];
  // Its client is to see which revisions there are.
  if (method === "initialize" && version === undefined) throw unsupportedRevision(params.protocolVersion, protocol);
  if (typeof version !== "string") throw missing(metaKeys.protocolVersion, "a text");
  if (version !== modernVersion) throw unsupportedRevision(version, protocol);
  const capabilities = meta[metaKeys.clientCapabilities];
  if (!isRecord(capabilities)) throw missing(metaKeys.clientCapabilities, "an object");
  const info = meta[metaKeys.clientInfo];
  const name = isRecord(info) ? parseText(info.name) : undefined;
  const { progressToken } = meta;
  return {
    protocolVersion: version,
    capabilities,
    clientInfo: name === undefined || !isRecord(info) ? undefined : { name, version: parseText(info.version) ?? "" },
    logLevel: logLevels.find((level) => level === meta[metaKeys.logLevel]),
    progressToken: typeof progressToken === "string" || typeof progressToken === "number" ? progressToken : undefined,
  };
}

function missing(field: string, wanted: string): RpcError {
  return invalidParams(`Invalid params: _meta must have ${field}, ${wanted}.`);
}
