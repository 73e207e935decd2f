import type { LanguageModelV4, LanguageModelV4CallOptions, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { MessagesModel } from "../../../src/agent/model/server-models.ts";
import { hello, type WireServer } from "./support.ts";

/** An event of a streamed answer. */
export function event(type: string, fields: object = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

/** The first event. */
export const begin = event("message_start", {
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "m-1",
    content: [],
    stop_reason: null,
    usage: { input_tokens: 12, cache_read_input_tokens: 3, cache_creation_input_tokens: 5, output_tokens: 1 },
  },
});

/** The last events. */
export function ending(reason: string, fields: object = {}): string {
  const usage = { output_tokens: 7 };
  return event("message_delta", { delta: { stop_reason: reason, ...fields }, usage }) + event("message_stop");
}

/** A block: its beginning, its deltas, its end. */
export function block(index: number, content_block: object, ...deltas: readonly object[]): string {
  const pieces = deltas.map((delta) => event("content_block_delta", { index, delta }));
  return [
    event("content_block_start", { index, content_block }),
    ...pieces,
    event("content_block_stop", { index }),
  ].join("");
}

/** A block of text. */
export function said(index: number, text: string): string {
  return block(index, { type: "text", text: "" }, { type: "text_delta", text });
}

/** A block of a call, with its arguments in pieces. */
export function called(index: number, id: string, name: string, ...pieces: readonly string[]): string {
  const deltas = pieces.map((partial_json) => ({ type: "input_json_delta", partial_json }));
  return block(index, { type: "tool_use", id, name, input: {} }, ...deltas);
}

export function messagesModel({ url }: WireServer, modelId = "claude-sonnet-4-5"): MessagesModel {
  return new MessagesModel(modelId, { name: "anthropic", url, apiKey: "k", headers: { "X-Team": "a" } });
}

/** The parts of a streamed answer, without the first one, which has the warnings. */
export async function messagePartsOf(model: LanguageModelV4, options: LanguageModelV4CallOptions = hello) {
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of (await model.doStream(options)).stream) parts.push(part);
  return parts.slice(1);
}
