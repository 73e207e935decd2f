import {
  type LanguageModelV4FilePart,
  type LanguageModelV4Message,
  type LanguageModelV4Prompt,
  type LanguageModelV4TextPart,
  type LanguageModelV4ToolCallPart,
  type LanguageModelV4ToolResultPart,
  type SharedV4ProviderOptions,
  UnsupportedFunctionalityError,
} from "@ai-sdk/provider";
import { jsonIn } from "../../../lib/value.ts";
import { resultText } from "../provider-quirks.ts";
import type { Fields } from "../wire/wire-fields.ts";

type AssistantContent = Extract<LanguageModelV4Message, { role: "assistant" }>["content"];

/**
 * A conversation as the messages of Chat Completions.
 *
 * @param provider - the name of the server, under which its metadata is
 * @throws UnsupportedFunctionalityError for a file that the form cannot hold
 */
export function chatMessages(prompt: LanguageModelV4Prompt, provider: string): readonly Fields[] {
  return prompt.flatMap((message) => messagesOf(message, provider));
}

function messagesOf(message: LanguageModelV4Message, provider: string): readonly Fields[] {
  const extras = extrasOf(message);
  switch (message.role) {
    case "system":
      return [{ role: "system", content: message.content, ...extras }];
    case "user":
      return [{ role: "user", content: userContent(message.content), ...extras, ...onlyExtras(message.content) }];
    case "assistant":
      return [{ ...assistantMessage(message.content, provider), ...extras }];
    case "tool":
      return message.content.flatMap((part) => (part.type === "tool-result" ? [resultMessage(part)] : []));
  }
}

/** A text alone is sent as one: small servers know no lists. */
function userContent(content: readonly (LanguageModelV4TextPart | LanguageModelV4FilePart)[]): unknown {
  const [first] = content;
  if (content.length === 1 && first?.type === "text") return first.text;
  return content.map((part) => ({ ...userPart(part), ...extrasOf(part) }));
}

/** A message that is a text has the fields of its only part. */
function onlyExtras(content: readonly (LanguageModelV4TextPart | LanguageModelV4FilePart)[]): Fields {
  const [first] = content;
  return content.length === 1 && first?.type === "text" ? extrasOf(first) : {};
}

function userPart(part: LanguageModelV4TextPart | LanguageModelV4FilePart): Fields {
  if (part.type === "text") return { type: "text", text: part.text };
  const { data, mediaType, filename } = part;
  const kind = mediaType.split("/", 1)[0];
  if (data.type === "text") return { type: "text", text: data.text };
  if (data.type === "reference") {
    const id = Object.values(data.reference)[0];
    return { type: "file", file: { file_id: id } };
  }
  if (kind === "text") return { type: "text", text: data.type === "url" ? data.url.href : decoded(data.data) };
  if (kind === "image" || kind === "video") {
    const url = data.type === "url" ? data.url.href : dataUrl(mediaType, data.data);
    return kind === "image" ? { type: "image_url", image_url: { url } } : { type: "video_url", video_url: { url } };
  }
  if (data.type === "url") throw unsupported(`the URL of a file of the type ${mediaType}`);
  if (kind === "audio") {
    const format = audioFormats[mediaType];
    if (format === undefined) throw unsupported(`audio of the type ${mediaType}`);
    return { type: "input_audio", input_audio: { data: base64(data.data), format } };
  }
  if (mediaType !== "application/pdf") throw unsupported(`a file of the type ${mediaType}`);
  const file = { filename: filename ?? "document.pdf", file_data: dataUrl(mediaType, data.data) };
  return { type: "file", file };
}

const audioFormats: Readonly<Record<string, string>> = {
  "audio/wav": "wav",
  "audio/x-wav": "wav",
  "audio/wave": "wav",
  "audio/mp3": "mp3",
  "audio/mpeg": "mp3",
};

/** Text, thoughts and calls are fields of one message. Files of an answer cannot be sent back. */
function assistantMessage(content: AssistantContent, provider: string): Fields {
  let text = "";
  let reasoning = "";
  const calls: Fields[] = [];
  for (const part of content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "reasoning") reasoning += part.text;
    else if (part.type === "tool-call") calls.push(callOf(part, provider));
  }
  return {
    role: "assistant",
    content: calls.length > 0 && text === "" ? null : text,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
}

function callOf({ toolCallId, toolName, input, ...part }: LanguageModelV4ToolCallPart, provider: string): Fields {
  const { providerOptions } = part;
  const signature = providerOptions?.[provider]?.thoughtSignature ?? providerOptions?.google?.thoughtSignature;
  return {
    id: toolCallId,
    type: "function",
    function: { name: toolName, arguments: argumentText(input) },
    ...extrasOf(part),
    ...(typeof signature === "string" ? { extra_content: { google: { thought_signature: signature } } } : {}),
  };
}

/** A text that is JSON already is sent as it is. */
function argumentText(input: unknown): string {
  if (typeof input !== "string") return JSON.stringify(input ?? {});
  return jsonIn(input) === undefined ? JSON.stringify(input) : input;
}

function resultMessage(part: LanguageModelV4ToolResultPart): Fields {
  return { role: "tool", tool_call_id: part.toolCallId, content: resultText(part.output), ...extrasOf(part) };
}

/** Fields that a caller adds to a message, a part or a call, such as `cache_control`. */
function extrasOf({ providerOptions }: { readonly providerOptions?: SharedV4ProviderOptions }): Fields {
  return providerOptions?.openaiCompatible ?? {};
}

function dataUrl(mediaType: string, data: Uint8Array | string): string {
  // Servers refuse a pattern, and go by the bytes where the type is another one.
  const exact = mediaType.endsWith("/*")
    ? mediaType.replace("/*", mediaType === "image/*" ? "/png" : "/mp4")
    : mediaType;
  return `data:${exact};base64,${base64(data)}`;
}

function base64(data: Uint8Array | string): string {
  return typeof data === "string" ? data : Buffer.from(data).toString("base64");
}

function decoded(data: Uint8Array | string): string {
  return Buffer.from(data as string, typeof data === "string" ? "base64" : undefined).toString("utf8");
}

function unsupported(functionality: string): UnsupportedFunctionalityError {
  const message = `Chat Completions cannot be sent ${functionality}.`;
  return new UnsupportedFunctionalityError({ functionality, message });
}
