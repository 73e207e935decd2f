import { randomUUID } from "node:crypto";
import type {
  JSONValue,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Message,
  LanguageModelV4Source,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";
import type { AgentSource } from "../../core/agent-event.ts";
import { messageOf, ToolkitError } from "../../core/error.ts";
import { jsonFault, parseJson } from "../../lib/nesting.ts";
import { isRecord, present } from "../../lib/value.ts";
import type { ChosenModel } from "./models.ts";

/** The complete answer of a model to one question. */
export interface Reply {
  readonly content: readonly LanguageModelV4Content[];
  readonly finishReason: LanguageModelV4FinishReason["unified"];
  readonly usage: LanguageModelV4Usage;
  /** The JSON of a structured answer, where the provider sends it apart from the text. */
  readonly structuredText?: string | undefined;
}

/** A tool call of a model with parsed arguments. */
export interface ModelToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  /** The error of parsing its arguments. */
  readonly malformed?: string | undefined;
}

type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/**
 * The reply with a distinct id for each call: some servers send none, or one twice, and the results of calls are matched by id.
 */
export function withDistinctIds(reply: Reply): Reply {
  const taken = new Set<string>();
  const content: LanguageModelV4Content[] = [];
  for (const part of reply.content) {
    if (!isOwnCall(part)) {
      content.push(part);
      continue;
    }
    const isOwn = part.toolCallId !== "" && !taken.has(part.toolCallId);
    const toolCallId = isOwn ? part.toolCallId : `call-${randomUUID()}`;
    taken.add(toolCallId);
    content.push(isOwn ? part : { ...part, toolCallId });
  }
  return { ...reply, content };
}

/** The text of a reply. */
export function textIn({ content }: Reply): string {
  let text = "";
  for (const part of content) if (part.type === "text") text += part.text;
  return text;
}

/** True for a tool call that the run has to make. */
function isOwnCall(part: LanguageModelV4Content): part is LanguageModelV4ToolCall {
  return part.type === "tool-call" && part.providerExecuted !== true;
}

/** The number of calls that the run has to make. */
export function countCalls({ content }: Reply): number {
  return content.filter(isOwnCall).length;
}

/** The reply without the calls that the run would have to make. */
export function withoutCalls(reply: Reply): Reply {
  return { ...reply, content: reply.content.filter((part) => !isOwnCall(part)) };
}

/** A source that a model names. */
export function sourceOf(part: LanguageModelV4Source): AgentSource {
  const { type: _type, providerMetadata: _metadata, ...source } = part;
  return present(source);
}

/** A reply as a message of the conversation, and the calls that the run has to make: a provider has already made its own. */
export function toMessage({ content }: Reply): {
  readonly message: LanguageModelV4Message;
  readonly calls: readonly ModelToolCall[];
} {
  const calls: ModelToolCall[] = [];
  const parts: AssistantPart[] = [];
  for (const part of content) {
    if (part.type !== "tool-call") {
      parts.push(...assistantPart(part));
      continue;
    }
    const call = parsedCall(part);
    if (isOwnCall(part)) calls.push(call);
    parts.push(callPart(part, call));
  }
  return { message: { role: "assistant", content: parts }, calls };
}

/** Levels of the arguments of a call. Each takes a part of the stack where the conversation is written as JSON. */
const maxNestingDepth = 256;

function parsedCall({ toolCallId: id, toolName: name, input: text }: LanguageModelV4ToolCall): ModelToolCall {
  try {
    const input = argumentsIn(text);
    if (jsonFault(input, maxNestingDepth) !== "depth") return { id, name, input };
    return { id, name, input: {}, malformed: `they are nested deeper than ${maxNestingDepth} levels` };
  } catch (error) {
    return { id, name, input: {}, malformed: messageOf(error) };
  }
}

/** Some models send nothing, or null, for a tool without parameters. */
function argumentsIn(text: string): unknown {
  return text.trim() === "" ? {} : (parseJson(text) ?? {});
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
    case "tool-result": {
      const { toolCallId, toolName, result } = part;
      const value = result as JSONValue;
      return [{ type: "tool-result", toolCallId, toolName, output: { type: "json", value }, ...optionsOf(part) }];
    }
    default:
      return [];
  }
}

/**
 * Providers accept objects alone: arguments that could not be parsed are reported in the result of the call. They are parsed once more for the
 * message: a tool that changes its input must not change the conversation.
 */
function callPart(part: LanguageModelV4ToolCall, call: ModelToolCall): AssistantPart {
  const { toolCallId, toolName, providerExecuted } = part;
  const input = call.malformed === undefined && isRecord(call.input) ? argumentsIn(part.input) : {};
  const executed = providerExecuted === undefined ? {} : { providerExecuted };
  return { type: "tool-call", toolCallId, toolName, input, ...executed, ...optionsOf(part) };
}

/** Metadata that the provider wants back with the part, such as the signature of a thought. */
function optionsOf({ providerMetadata }: Pick<LanguageModelV4Content, "providerMetadata">) {
  return providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
}

/** In base64, so that JSON holds it. */
function plainData<D extends { readonly type: string }>(data: D): D {
  if (!("data" in data) || !(data.data instanceof Uint8Array)) return data;
  return { ...data, data: Buffer.from(data.data).toString("base64") };
}

/** Limit of a quoted text, in characters. */
const maxQuoted = 2_000;

/** @throws ToolkitError `MODEL_FAILED` for a reply that ended without an answer, by its finish reason */
export function assertAnswered(reply: Reply, { provider, modelId: model }: ChosenModel): void {
  const why = unanswered[reply.finishReason];
  if (why === undefined) return;
  const text = textIn(reply).trim();
  const quote = text === "" ? "" : ` Its text: ${JSON.stringify(text.slice(0, maxQuoted))}`;
  throw new ToolkitError("MODEL_FAILED", `The model ${provider}/${model} gave no answer: ${why}.${quote}`, {
    provider,
    model,
  });
}

const unanswered: { readonly [R in Reply["finishReason"]]?: string } = {
  "content-filter": "its provider, or the model itself, refused (content-filter)",
  error: "it stopped because of an error",
  interrupted: "its answer ended in the middle",
};
