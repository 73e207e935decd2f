import { randomUUID } from "node:crypto";
import type {
  JSONValue,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { messageOf } from "../../core/error.ts";
import { isRecord } from "../../lib/value.ts";

/** What a model answered, whole. */
export interface Reply {
  readonly content: readonly LanguageModelV4Content[];
  readonly finishReason: LanguageModelV4FinishReason["unified"];
  readonly usage: LanguageModelV4Usage;
  /** What is JSON of it, where that is not all of its text. */
  readonly structuredText?: string | undefined;
}

/** A tool call of a model, its arguments read. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** Why its arguments cannot be read. */
  readonly malformed?: string | undefined;
}

type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/**
 * The reply with an id for each call that no other has: some servers give none, or the same one twice, and take no results that cannot be
 * told apart.
 */
export function withDistinctIds(reply: Reply): Reply {
  const taken = new Set<string>();
  const content = reply.content.map((part) => {
    if (part.type !== "tool-call" || part.providerExecuted === true) return part;
    const isOwn = part.toolCallId !== "" && !taken.has(part.toolCallId);
    const toolCallId = isOwn ? part.toolCallId : `call-${randomUUID()}`;
    taken.add(toolCallId);
    return isOwn ? part : { ...part, toolCallId };
  });
  return { ...reply, content };
}

/** All the text of a reply. */
export function textIn({ content }: Reply): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The calls of a reply that are to be made here; those a provider makes itself are done already. */
export function callsIn({ content }: Reply): readonly RequestedCall[] {
  return content.flatMap((part) =>
    part.type === "tool-call" && part.providerExecuted !== true ? [requestedCall(part)] : [],
  );
}

function requestedCall({ toolCallId: id, toolName: name, input: text }: LanguageModelV4ToolCall): RequestedCall {
  if (text.trim() === "") return { id, name, input: {} };
  try {
    // Some models give null for a tool that takes nothing.
    return { id, name, input: JSON.parse(text) ?? {} };
  } catch (error) {
    return { id, name, input: {}, malformed: messageOf(error) };
  }
}

/** The reply as the message it is in a conversation. */
export function asMessage(reply: Reply): LanguageModelV4Message {
  return { role: "assistant", content: reply.content.flatMap(assistantPart) };
}

function assistantPart(part: LanguageModelV4Content): AssistantPart[] {
  switch (part.type) {
    case "text":
      // Providers refuse a text that is empty.
      return part.text === "" ? [] : [{ type: "text", text: part.text, ...optionsOf(part) }];
    case "reasoning":
      return [{ type: "reasoning", text: part.text, ...optionsOf(part) }];
    case "reasoning-file":
    case "file":
      return [{ type: part.type, mediaType: part.mediaType, data: plainData(part.data), ...optionsOf(part) }];
    case "custom":
      return [{ type: "custom", kind: part.kind, ...optionsOf(part) }];
    case "tool-call": {
      const { toolCallId, toolName, providerExecuted } = part;
      const input = inputOf(part);
      const executed = providerExecuted === undefined ? {} : { providerExecuted };
      return [{ type: "tool-call", toolCallId, toolName, input, ...executed, ...optionsOf(part) }];
    }
    case "tool-result": {
      const { toolCallId, toolName, result } = part;
      const value = result as JSONValue;
      return [{ type: "tool-result", toolCallId, toolName, output: { type: "json", value }, ...optionsOf(part) }];
    }
    default:
      return [];
  }
}

/** Providers take an object alone: what could not be read was refused, and is told in the result. */
function inputOf(call: LanguageModelV4ToolCall): unknown {
  const { input } = requestedCall(call);
  return isRecord(input) ? input : {};
}

/** What a provider says of a part it wants to hear again with it, such as the signature of a thought. */
function optionsOf({ providerMetadata }: Pick<LanguageModelV4Content, "providerMetadata">) {
  return providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
}

/** In base64, so that JSON holds it. */
function plainData<D extends { readonly type: string }>(data: D): D {
  if (!("data" in data) || !(data.data instanceof Uint8Array)) return data;
  return { ...data, data: Buffer.from(data.data).toString("base64") };
}
