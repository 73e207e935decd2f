import type { CallContext } from "../../core/item.ts";
import type { Content } from "../../core/resource.ts";
import type { ToolOptions } from "../../core/tool-options.ts";
import type { HttpOperation } from "./http-operation.ts";

/** The options of the tool of an operation: its limit of time, and the retries that are safe for it. */
export function optionsOf({ timeoutMs, retry }: HttpOperation): ToolOptions {
  return { timeoutMs, retry };
}

/**
 * Sends the request of an operation, and reads the answer: JSON as JSON, text as text, any other as a file of its media type.
 *
 * @throws ToolkitError `INVALID_INPUT` for an argument that does not fit its place, `DENIED` for an address that the egress policy refuses,
 *   `UNAUTHORIZED`, `RATE_LIMITED`, `NOT_FOUND`, `REMOTE_ERROR`, `UNAVAILABLE`, `OUTCOME_UNKNOWN`, `LIMIT_EXCEEDED`; the reason of an abort
 */
export async function sendOperation(operation: HttpOperation, _input: unknown, context: CallContext): Promise<Content> {
  context.signal.throwIfAborted();
  throw new Error(`${operation.name} is not sent yet`);
}
