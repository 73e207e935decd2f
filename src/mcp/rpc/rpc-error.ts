import { ToolkitError } from "../../core/error.ts";
import { jsonFault } from "../../lib/nesting.ts";
import { visible } from "../../lib/visible-text.ts";
import type { RpcErrorObject } from "./rpc-message.ts";

/** A message that has, or would have, more bytes than it may. */
export function messageTooLarge(max: number, actual: number): ToolkitError<"LIMIT_EXCEEDED"> {
  return new ToolkitError(
    "LIMIT_EXCEEDED",
    `A message is larger than maxMessageBytes (${max}). Raise the limit, or ask the server for less at once.`,
    { limit: "maxMessageBytes", max, actual },
  );
}

/** The error of a message with more levels than it may have, or with a number that none can hold; undefined for any other. */
export function messageFault(value: unknown, max: number): ToolkitError | undefined {
  const fault = jsonFault(value, max);
  if (fault === undefined) return undefined;
  if (fault === "number") {
    const issue = { pointer: "", message: "has a number beyond 1.8e308, which is more than a number can hold" };
    return new ToolkitError("INVALID_OUTPUT", `A message ${issue.message}.`, { issues: [issue] });
  }
  return new ToolkitError(
    "LIMIT_EXCEEDED",
    `A message is nested deeper than maxNestingDepth (${max}). Raise the limit, or ask the server for something flatter.`,
    { limit: "maxNestingDepth", max },
  );
}

/** The error codes of JSON-RPC and MCP that have a meaning here. */
export const rpcCodes = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  resourceNotFound: -32002,
} as const;

/** A peer answered a request with an error. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  readonly code: number;
  readonly data: unknown;

  constructor(error: Partial<RpcErrorObject>) {
    super(typeof error.message === "string" && error.message !== "" ? visible(error.message) : "no message");
    this.code = typeof error.code === "number" ? error.code : 0;
    this.data = error.data;
  }
}

/** A request has no answer because the connection failed. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
  /** False where the request surely never reached the server, so that it is safe to send it again. */
  readonly sent: boolean;
  /** True where the server answered to the end, without a result. */
  readonly isAnswered: boolean;

  constructor(
    message: string,
    options: { readonly sent: boolean; readonly isAnswered?: boolean; readonly cause?: unknown },
  ) {
    super(visible(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.sent = options.sent;
    this.isAnswered = options.isAnswered ?? false;
  }
}

/** A text that ends a sentence. */
export function sentence(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
