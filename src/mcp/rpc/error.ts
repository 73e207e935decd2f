import type { RpcErrorObject } from "./message.ts";

/** The JSON-RPC and MCP error codes we look at. */
export const rpcCodes = {
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
    super(typeof error.message === "string" && error.message !== "" ? error.message : "no message");
    this.code = typeof error.code === "number" ? error.code : 0;
    this.data = error.data;
  }
}

/** A request has no answer because the connection failed. */
export class ConnectionLostError extends Error {
  override readonly name = "ConnectionLostError";
  /** False where the request surely never reached the far side, so that it is safe to send it again. */
  readonly sent: boolean;

  constructor(message: string, options: { readonly sent: boolean; readonly cause?: unknown }) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.sent = options.sent;
  }
}
