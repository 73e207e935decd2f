import type {
  JSONObject,
  LanguageModelV4FinishReason,
  LanguageModelV4ResponseMetadata,
  LanguageModelV4ToolCall,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { isRecord } from "../../../lib/value.ts";
import { countIn, type Fields, textIn } from "../wire/wire-fields.ts";

/** A piece of an answer in words. */
export interface SpokenPiece {
  readonly type: "text" | "reasoning";
  readonly text: string;
}

/** A message, or a delta of one, in words: the reasoning first, then text and refusal. */
export function spokenIn(message: Fields): readonly SpokenPiece[] {
  const { content } = message;
  const pieces: SpokenPiece[] = [];
  const reasoning = textIn(message.reasoning_content) || textIn(message.reasoning);
  if (reasoning !== "") pieces.push({ type: "reasoning", text: reasoning });
  if (typeof content === "string") {
    if (content !== "") pieces.push({ type: "text", text: content });
  } else if (Array.isArray(content)) {
    for (const part of content) pieces.push(...spokenInPart(part));
  }
  const refusal = textIn(message.refusal);
  if (refusal !== "") pieces.push({ type: "text", text: refusal });
  return pieces;
}

/** Mistral sends its thoughts as parts of the content. */
function spokenInPart(part: unknown): readonly SpokenPiece[] {
  if (!isRecord(part)) return [];
  if (part.type === "thinking" && Array.isArray(part.thinking)) {
    const text = part.thinking.map((each) => (isRecord(each) ? textIn(each.text) : "")).join("");
    return text === "" ? [] : [{ type: "reasoning", text }];
  }
  const text = part.type === "text" ? textIn(part.text) : "";
  return text === "" ? [] : [{ type: "text", text }];
}

/** True for a message, or a delta, by which the model refuses to answer. */
export function isRefusal({ refusal }: Fields): boolean {
  return typeof refusal === "string" && refusal !== "";
}

/** The tool calls of a message, or of a delta. */
export function callsIn({ tool_calls: calls }: Fields): readonly Fields[] {
  return Array.isArray(calls) ? calls.filter(isRecord) : [];
}

/** A tool call with its arguments whole. */
export function toolCall(
  fields: {
    readonly id: string;
    readonly name: string;
    readonly input: string;
    readonly signature: string | undefined;
  },
  provider: string,
): LanguageModelV4ToolCall {
  const { id: toolCallId, name: toolName, input, signature } = fields;
  const call: LanguageModelV4ToolCall = { type: "tool-call", toolCallId, toolName, input };
  if (signature !== undefined) call.providerMetadata = { [provider]: { thoughtSignature: signature } };
  return call;
}

/** The signature of a thought, which Google wants back with the call. */
export function signatureIn({ extra_content: extra }: Fields): string | undefined {
  const google = isRecord(extra) ? extra.google : undefined;
  const signature = isRecord(google) ? google.thought_signature : undefined;
  return typeof signature === "string" && signature !== "" ? signature : undefined;
}

/** The arguments of a call: a text, for which some servers send the value itself. */
export function argumentsIn({ arguments: given }: Fields): string {
  if (typeof given === "string") return given;
  return isRecord(given) ? JSON.stringify(given) : "";
}

/**
 * The reason why an answer ended. OpenAI reports `stop` for refusals, and many servers for tool calls.
 *
 * @param raw - as the server sent it, if it did
 */
export function finishReasonOf(
  raw: string | undefined,
  { refused, calls }: { readonly refused: boolean; readonly calls: number },
): LanguageModelV4FinishReason {
  return { unified: unifiedReason(raw, refused, calls > 0), raw };
}

function unifiedReason(
  raw: string | undefined,
  refused: boolean,
  hasCalls: boolean,
): LanguageModelV4FinishReason["unified"] {
  switch (raw) {
    case undefined:
    case "stop":
      if (refused) return "content-filter";
      if (hasCalls) return "tool-calls";
      return raw === undefined ? "other" : "stop";
    case "length":
      return "length";
    case "content_filter":
      return "content-filter";
    case "tool_calls":
    case "function_call":
      return "tool-calls";
    case "error":
      return "error";
    default:
      return "other";
  }
}

/** The usage of an answer, or of a chunk of one, as the server sends it; undefined for none. */
export function rawUsageIn({ usage, x_groq: groq }: Fields): Fields | undefined {
  if (isRecord(usage)) return usage;
  return isRecord(groq) && isRecord(groq.usage) ? groq.usage : undefined;
}

/** The tokens of an answer. */
export function usageOf(raw: Fields | undefined): LanguageModelV4Usage {
  if (raw === undefined) {
    return {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    };
  }
  const inputDetails = isRecord(raw.prompt_tokens_details) ? raw.prompt_tokens_details : {};
  const outputDetails = isRecord(raw.completion_tokens_details) ? raw.completion_tokens_details : {};
  const input = countIn(raw.prompt_tokens) ?? 0;
  const output = countIn(raw.completion_tokens) ?? 0;
  // DeepSeek has a field of its own.
  const cached = countIn(inputDetails.cached_tokens) ?? countIn(raw.prompt_cache_hit_tokens) ?? 0;
  const reasoning = countIn(outputDetails.reasoning_tokens) ?? 0;
  return {
    inputTokens: { total: input, noCache: Math.max(0, input - cached), cacheRead: cached, cacheWrite: undefined },
    outputTokens: { total: output, text: Math.max(0, output - reasoning), reasoning },
    raw: raw as JSONObject,
  };
}

/** The facts about predicted tokens, which have no place in the usage; undefined for none. */
export function predictionOf(raw: Fields | undefined, provider: string): SharedV4ProviderMetadata | undefined {
  const details = isRecord(raw?.completion_tokens_details) ? raw.completion_tokens_details : {};
  const acceptedPredictionTokens = countIn(details.accepted_prediction_tokens);
  const rejectedPredictionTokens = countIn(details.rejected_prediction_tokens);
  if (acceptedPredictionTokens === undefined && rejectedPredictionTokens === undefined) return undefined;
  const facts = { acceptedPredictionTokens, rejectedPredictionTokens };
  return { [provider]: JSON.parse(JSON.stringify(facts)) };
}

/** The id, the model and the time of an answer. Some servers send empty ones first. */
export function metadataOf({ id, model, created }: Fields): LanguageModelV4ResponseMetadata {
  const metadata: LanguageModelV4ResponseMetadata = {};
  if (typeof id === "string" && id !== "") metadata.id = id;
  if (typeof model === "string" && model !== "") metadata.modelId = model;
  const seconds = countIn(created) ?? 0;
  // Beyond it a Date holds no time.
  if (seconds > 0 && seconds <= 8.64e12) metadata.timestamp = new Date(seconds * 1_000);
  return metadata;
}
