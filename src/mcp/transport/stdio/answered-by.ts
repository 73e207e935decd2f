import type { Overlong } from "../../../lib/child/child-output.ts";
import type { RpcId } from "../../rpc/rpc-message.ts";

const version = '(?:"jsonrpc"\\s*:\\s*"2\\.0"\\s*,\\s*)?';
const id = '"id"\\s*:\\s*(\\d+|"[^"\\\\]*")\\s*';
const outcome = '"(?:result|error)"\\s*:';
// Servers write the id before the result, or after it. The field just before the last brace belongs to the envelope itself.
const idFirst = new RegExp(`^\\s*\\{\\s*${version}${id},\\s*${version}${outcome}`);
const outcomeFirst = new RegExp(`^\\s*\\{\\s*${version}${outcome}`);
const idLast = new RegExp(`,\\s*${version}${id}(?:,\\s*"jsonrpc"\\s*:\\s*"2\\.0"\\s*)?\\}\\s*$`);

/** The request that a message answers, where its ends show it. */
export function answeredBy({ head, tail }: Overlong): RpcId | undefined {
  const match = idFirst.exec(head) ?? (outcomeFirst.test(head) ? idLast.exec(tail) : null);
  return match?.[1] === undefined ? undefined : (JSON.parse(match[1]) as RpcId);
}
