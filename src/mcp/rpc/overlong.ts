import type { RequestId } from "./message.ts";

/** What was kept of a message that is too long to be read: how it begins and how it ends. */
export interface Overlong {
  readonly head: string;
  readonly tail: string;
  /** All of it, in bytes. */
  readonly size: number;
}

/** So much of either end is kept, in bytes: more than the envelope of an answer takes. */
export const keptBytes = 256;

const version = '(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?';
const id = '"id"\\s*:\\s*(\\d+|"[^"\\\\]*")\\s*';
const outcome = '"(?:result|error)"\\s*:';
// Servers write the id before the result, or after it. What is just before the last brace belongs to the envelope itself.
const idFirst = new RegExp(`^\\s*\\{\\s*${version}${id},\\s*${version}${outcome}`);
const outcomeFirst = new RegExp(`^\\s*\\{\\s*${version}${outcome}`);
const idLast = new RegExp(`,\\s*${version}${id}(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`);

/** The request that a message answers, where its ends tell. */
export function answeredBy({ head, tail }: Overlong): RequestId | undefined {
  const match = idFirst.exec(head) ?? (outcomeFirst.test(head) ? idLast.exec(tail) : null);
  return match?.[1] === undefined ? undefined : (JSON.parse(match[1]) as RequestId);
}
