import type { ServerInfo } from "../../core/connection.ts";
import { ToolkitError } from "../../core/error.ts";
import { isRecord } from "../../lib/value.ts";
import { protocolVersions, serverInfoOf } from "../handshake.ts";
import type { Redactor } from "../redact.ts";
import type { RequestOptions } from "../rpc/request-options.ts";
import { ConnectionLostError, RpcError } from "../rpc/rpc-error.ts";
import { HttpStatusError, NotMcpError } from "../transport/http/http-error.ts";
import { supportedIn, textsOf, unsupportedProtocol } from "../unsupported-protocol.ts";
import { isModernCode, metaKeys, modernCodes, modernVersion } from "./revision.ts";

type Fields = Readonly<Record<string, unknown>>;

/** A server answered as one with sessions does: it is to be asked to initialize. */
export class EarlierRevisionError extends Error {
  override readonly name = "EarlierRevisionError";

  /** The revisions that it names; undefined where it names none. */
  readonly supported: readonly string[] | undefined;

  constructor({ cause, supported }: { readonly cause?: unknown; readonly supported?: readonly string[] }) {
    super(`does not answer server/discover as one that speaks ${modernVersion}`, { cause });
    this.supported = supported;
  }
}

/** Statuses that say nothing of the revision of a server: it wants credentials or time. */
const undecided: ReadonlySet<number> = new Set([401, 403, 407, 408, 425, 429]);

/** True for a status that says nothing of the revision of a server: it may also be down, or elsewhere. */
export function isUndecided({ status }: HttpStatusError): boolean {
  return status < 400 || status >= 500 || undecided.has(status);
}

/** The server that is asked. */
export interface DiscoveredServer {
  readonly label: string;
  readonly redactor: Redactor;
  /** The fields of `_meta`. */
  readonly meta: Fields;
  request(method: string, params: Fields, options?: RequestOptions): Promise<unknown>;
}

/**
 * Asks a server what it speaks, and learns its name and capabilities.
 *
 * @throws EarlierRevisionError; ToolkitError `UNSUPPORTED_PROTOCOL` where it names revisions, and none is spoken here; whatever the
 *   request throws that decides nothing
 * @see https://modelcontextprotocol.io/specification/2026-07-28/server/discover
 */
export async function discover(asked: DiscoveredServer, options?: RequestOptions): Promise<ServerInfo> {
  const ask = () => asked.request("server/discover", { _meta: asked.meta }, options);
  let result: unknown;
  try {
    // One that rejects what it says it speaks is asked once more.
    result = await ask().catch((error: unknown) => (namesOurs(error) ? ask() : Promise.reject(error)));
  } catch (error) {
    throw namesOurs(error) ? error : verdictOf(error, asked);
  }
  const supported = isRecord(result) ? textsOf(result.supportedVersions) : undefined;
  if (!isRecord(result) || supported === undefined) throw new EarlierRevisionError({});
  if (!supported.includes(modernVersion)) throw speaksOther(supported, asked);
  const info = isRecord(result._meta) ? result._meta[metaKeys.serverInfo] : undefined;
  return serverInfoOf({ ...result, serverInfo: info ?? result.serverInfo }, modernVersion, asked);
}

/** True for an error by which a server rejects a revision, and names the one that is spoken here. */
function namesOurs(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.code !== modernCodes.unsupportedVersion) return false;
  return supportedIn(error.data)?.includes(modernVersion) === true;
}

/** The verdict on a server that answered with an error. */
function verdictOf(error: unknown, asked: DiscoveredServer): unknown {
  if (error instanceof RpcError) {
    const supported = error.code === modernCodes.unsupportedVersion ? supportedIn(error.data) : undefined;
    if (supported !== undefined) return speaksOther(supported, asked);
    return isModernCode(error.code) ? error : new EarlierRevisionError({ cause: error });
  }
  return isAnswered(error) ? new EarlierRevisionError({ cause: error }) : error;
}

/** True where the server answered, in whatever way, and not that it wants credentials or time. */
function isAnswered(error: unknown): boolean {
  if (error instanceof HttpStatusError) return !isUndecided(error);
  if (error instanceof ConnectionLostError) return error.isAnswered;
  return (
    error instanceof NotMcpError || ToolkitError.is(error, "LIMIT_EXCEEDED") || ToolkitError.is(error, "INVALID_OUTPUT")
  );
}

function speaksOther(supported: readonly string[], { label, redactor }: DiscoveredServer): Error {
  if (supported.some((version) => protocolVersions.includes(version))) return new EarlierRevisionError({ supported });
  return unsupportedProtocol(supported, { label, redactor, spoken: [modernVersion, ...protocolVersions] });
}
