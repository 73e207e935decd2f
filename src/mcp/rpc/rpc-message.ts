import { isRecord } from "../../lib/value.ts";

/** The id of a request. A server may use strings. */
export type RpcId = string | number;

/** The error of a peer (JSON-RPC 2.0, section 5.1). */
export interface RpcErrorObject {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

/** One message of JSON-RPC 2.0, read no further than its envelope. */
export interface RpcMessage {
  readonly jsonrpc: "2.0";
  readonly id?: RpcId | null | undefined;
  readonly method?: string | undefined;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: RpcErrorObject | undefined;
}

/** True for what is an object and says it is JSON-RPC 2.0. The rest is looked at where it is used. */
export function isRpcMessage(value: unknown): value is RpcMessage {
  return isRecord(value) && value.jsonrpc === "2.0";
}

/** Parses a text that holds a message, or a batch of them (as the revision of March 2025 has it). Undefined where it holds none. */
export function parseMessages(text: string): readonly RpcMessage[] | undefined {
  // An exception costs more than a line: a server may write millions that are none. Each message says which JSON-RPC it is.
  if (!/^\s*[[{]/.test(text) || !text.includes('"jsonrpc"') || !text.includes('"2.0"')) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (isRpcMessage(value)) return [value];
  return Array.isArray(value) && value.length > 0 && value.every(isRpcMessage) ? value : undefined;
}

/** A field that holds a text, but no empty one; undefined for any other. */
export function parseText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
