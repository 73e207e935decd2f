import { messageOf, ToolkitError } from "../../core/error.ts";
import { isContent } from "../../core/resource.ts";
import { isRecord } from "../../lib/value.ts";
import { RpcError, rpcCodes } from "../../mcp/rpc/rpc-error.ts";
import { sentWith } from "./result-form.ts";

type Fields = Readonly<Record<string, unknown>>;

/** The key of `_meta` and of the data of an error under which a client finds the code of the Toolkit. */
export const errorKey = "toolweave/code";

/** An error of a client: nothing ran. */
export function invalidParams(message: string, data?: unknown): RpcError {
  return new RpcError({ code: rpcCodes.invalidParams, message, data });
}

/**
 * The result of a tool that failed, which the model of the client is to read and act upon: bad arguments are among these.
 *
 * @throws RpcError where the failure is one of the protocol: an unknown tool, or the error that the upstream server answered
 */
export function failedCall(error: unknown, name: string): Fields {
  if (error instanceof RpcError) throw error;
  if (!ToolkitError.is(error)) throw internalError();
  // One without a code is no error of the protocol: an HTTP service refused what it was asked for.
  if (ToolkitError.is(error, "REMOTE_ERROR") && error.details.rpcCode !== undefined) throw rpcError(error);
  if (isUnknownTool(error)) throw invalidParams(`Unknown tool: ${name}`);
  const content = ToolkitError.is(error, "TOOL_FAILED") ? error.details.content : undefined;
  const sent = isContent(content) ? sentWith(content) : undefined;
  if (sent !== undefined) return Array.isArray(sent.content) ? sent : { ...sent, content: [] };
  return failedResult(error);
}

/** The result of a tool that failed, in the words of the error. */
export function failedResult({ message, code }: ToolkitError): Fields {
  return { content: [{ type: "text", text: message }], isError: true, _meta: { [errorKey]: code } };
}

/** The error of a request other than `tools/call`. */
export function rpcError(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  if (!ToolkitError.is(error)) return internalError();
  const { code, message } = error;
  const data = { [errorKey]: code };
  if (ToolkitError.is(error, "REMOTE_ERROR")) {
    const { rpcCode, data: sent } = error.details;
    const said = error.cause instanceof RpcError ? error.cause.message : message;
    if (rpcCode !== undefined) return new RpcError({ code: rpcCode, message: said, data: sent });
  }
  if (code === "NOT_FOUND" || code === "INVALID_INPUT" || code === "AMBIGUOUS_NAME")
    return invalidParams(message, data);
  return new RpcError({ code: rpcCodes.internalError, message, data });
}

/** The error of `resources/read` and `resources/subscribe`. */
export function resourceError(error: unknown, uri: string): RpcError {
  if (!isUnknown(error)) return rpcError(error);
  return new RpcError({ code: rpcCodes.resourceNotFound, message: `Resource not found: ${uri}`, data: { uri } });
}

/** True where there was no tool to call. */
export function isUnknownTool(error: unknown): boolean {
  return ToolkitError.is(error, "NOT_FOUND") && isUnknown(error) && error.phase !== "execute";
}

/** True for what is not there, and for what the caller may not see: these look the same. */
function isUnknown(error: unknown): boolean {
  return (
    ToolkitError.is(error, "NOT_FOUND") &&
    (error.phase === undefined || error.phase === "resolve" || error.phase === "execute")
  );
}

/** Errors that are none of ours are for the operator. */
function internalError(): RpcError {
  return new RpcError({ code: rpcCodes.internalError, message: "The request failed here." });
}

/** The code of an error for an audit record. */
export function auditCode(error: unknown): string | number {
  if (error instanceof RpcError)
    return isRecord(error.data) && typeof error.data[errorKey] === "string" ? error.data[errorKey] : error.code;
  return ToolkitError.is(error) ? error.code : messageOf(error).slice(0, 40);
}
