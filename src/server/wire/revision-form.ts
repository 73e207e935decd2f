import { isRecord } from "../../lib/value.ts";
import { metaKeys } from "../../mcp/modern/revision.ts";
import { RpcError, rpcCodes } from "../../mcp/rpc/rpc-error.ts";
import type { ServedInfo } from "../serve-options.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The freshness of results, which 2026-07-28 wants with lists and contents. */
export interface CacheHints {
  readonly ttlMs: number;
  /** `public` where everybody gets the same. */
  readonly cacheScope: "public" | "private";
}

/** The methods whose results say how long they are fresh. */
const listMethods: ReadonlySet<string> = new Set([
  ...["tools/list", "prompts/list", "resources/list", "resources/templates/list", "server/discover"],
]);

/** A result as 2026-07-28 has it: complete, from this server, with its freshness. */
export function statelessResult(method: string, result: Fields, server: ServedInfo, hints: CacheHints): Fields {
  // An upstream server may say anything of its own.
  const {
    resultType: _type,
    inputRequests: _asked,
    requestState: _state,
    ttlMs: sentTtl,
    cacheScope,
    ...rest
  } = result;
  const _meta = { ...(isRecord(rest._meta) ? rest._meta : {}), [metaKeys.serverInfo]: server };
  const complete = { resultType: "complete", ...rest, _meta };
  if (listMethods.has(method)) return { ...complete, ...hints };
  if (method !== "resources/read") return complete;
  const ttlMs = typeof sentTtl === "number" && sentTtl >= 0 ? sentTtl : 0;
  return { ...complete, ttlMs, cacheScope: cacheScope === "public" ? hints.cacheScope : "private" };
}

/** A result that asks for input. */
export function inputRequired(
  asked: { readonly inputRequests: Fields; readonly requestState: string },
  server: ServedInfo,
): Fields {
  return { resultType: "input_required", ...asked, _meta: { [metaKeys.serverInfo]: server } };
}

/** A result as the revisions with a handshake have it, without what only 2026-07-28 has room for. */
export function handshakeResult(method: string, result: Fields): Fields {
  if (method === "tools/list" && Array.isArray(result.tools))
    return { ...result, tools: result.tools.map(handshakeTool) };
  const { structuredContent } = result;
  const isForeign = structuredContent !== undefined && !isRecord(structuredContent);
  if (result.resultType === undefined && !(method === "tools/call" && isForeign)) return result;
  const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...rest } = result;
  const sent = isForeign ? withTextOf(rest) : rest;
  if (!isRecord(sent._meta)) return sent;
  const { [metaKeys.serverInfo]: _server, ..._meta } = sent._meta;
  if (Object.keys(_meta).length > 0) return { ...sent, _meta };
  const { _meta: _none, ...plain } = sent;
  return plain;
}

/** Structured content was an object up to 2025-11-25: any other is a text, where there is no content. */
function withTextOf({ structuredContent, ...rest }: Fields): Fields {
  // Where `null` means none, there is none.
  if (structuredContent === null || (Array.isArray(rest.content) && rest.content.length > 0)) return rest;
  return { ...rest, content: [{ type: "text", text: JSON.stringify(structuredContent) }] };
}

function handshakeTool(tool: Fields): Fields {
  const { outputSchema, ...rest } = tool;
  return outputSchema === undefined || (isRecord(outputSchema) && outputSchema.type === "object") ? tool : rest;
}

const urlRequired = -32042;

/** An error as 2026-07-28 has it. Codes that it gave up, and those that only this server itself may give, become others. */
export function statelessError(error: RpcError): RpcError {
  const { code, message, data } = error;
  if (code === rpcCodes.resourceNotFound) return new RpcError({ code: rpcCodes.invalidParams, message, data });
  const isReserved = (code <= -32020 && code >= -32099) || code === urlRequired;
  return isReserved ? new RpcError({ code: rpcCodes.internalError, message, data }) : error;
}
