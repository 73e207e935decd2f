import { isRpcMessage, type RpcMessage } from "../../mcp/rpc/rpc-message.ts";
import type { ReadHandlerOptions } from "./handler-options.ts";
import { RequestRefusal, type ServedExchange } from "./http-exchange-port.ts";

/** The messages of a POST. */
export interface PostedMessages {
  /** As it came. */
  readonly body: string;
  readonly messages: readonly RpcMessage[];
  /** False where the client takes one answer in JSON and nothing else. */
  readonly takesEvents: boolean;
}

/** The most messages of one body: the revision of March 2025 has batches. */
const maxBatch = 100;
const usualAccept = "application/json, text/event-stream";

/** Reads a POST. @throws RequestRefusal; ClientGone */
export async function readPost(
  exchange: ServedExchange,
  { maxMessageBytes: maxBytes, bodyTimeoutMs: timeoutMs }: ReadHandlerOptions,
): Promise<PostedMessages> {
  if (!/^application\/json\b/i.test(exchange.header("content-type") ?? ""))
    throw new RequestRefusal(415, "The content type must be application/json.");
  const takesEvents = accepts(exchange, "text/event-stream");
  if (!takesEvents && !accepts(exchange, "application/json"))
    throw new RequestRefusal(406, "Accept must have application/json and text/event-stream.");
  const body = await exchange.body({ maxBytes, timeoutMs });
  return { body, messages: parseBody(body), takesEvents };
}

/** @throws RequestRefusal */
export function sessionIdOf(exchange: ServedExchange): string {
  const id = exchange.header("mcp-session-id");
  if (id === undefined) throw new RequestRefusal(400, "The header Mcp-Session-Id is missing: begin with initialize.");
  return id;
}

/** True where the client takes a type of content. */
export function accepts(exchange: ServedExchange, type: string): boolean {
  const accept = exchange.header("accept");
  // As clients of MCP write it.
  if (accept === undefined || accept === usualAccept) return true;
  const [family] = type.split("/");
  return accept.split(",").some((each) => {
    const [range] = each.trim().toLowerCase().split(";");
    return range === type || range === "*/*" || range === `${family}/*`;
  });
}

/** @throws RequestRefusal for what is no message of JSON-RPC */
function parseBody(text: string): readonly RpcMessage[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RequestRefusal(400, "The body is no JSON.", { rpcCode: -32_700 });
  }
  const messages = Array.isArray(value) ? value : [value];
  if (messages.length === 0 || messages.length > maxBatch || !messages.every(isRpcMessage))
    throw new RequestRefusal(400, `The body must be a message of JSON-RPC 2.0, or 1 to ${maxBatch} of them.`, {
      rpcCode: -32_600,
    });
  return messages;
}
