import {
  APICallError,
  type LanguageModelV4FinishReason,
  type LanguageModelV4StreamPart,
  type LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { abortable } from "../../lib/promise.ts";
import { isRecord, present } from "../../lib/value.ts";
import type { ScriptedReasoning, ScriptedStep, ScriptedText, ScriptedToolCall } from "./script.ts";

/** Options of an answer. */
export interface AnswerOptions {
  readonly modelId: string;
  /** Length of the pieces of a text that is given as one. */
  readonly chunkLength: number;
  readonly signal: AbortSignal | undefined;
  /** The id of a call that has none. */
  nextId(): string;
}

/** Throws the error of a step without content. */
export function throwEarly(step: ScriptedStep): void {
  if (step.error !== undefined && !hasContent(step)) throw errorOf(step.error);
}

/** The parts of a step, as a provider streams them. An abort ends it with the reason of the signal. */
export async function* partsOf(step: ScriptedStep, options: AnswerOptions): AsyncGenerator<LanguageModelV4StreamPart> {
  const { signal } = options;
  yield { type: "stream-start", warnings: [...(step.warnings ?? [])] };
  yield { type: "response-metadata", modelId: options.modelId };
  if (step.reasoning !== undefined) yield* reasoningParts(step.reasoning, options);
  if (step.text !== undefined) {
    yield { type: "text-start", id: "text" };
    for await (const delta of pieces(step.text, options)) yield { type: "text-delta", id: "text", delta };
    yield { type: "text-end", id: "text" };
  }
  for (const call of step.toolCalls ?? []) yield* callParts(call, options);
  yield* step.content ?? [];
  signal?.throwIfAborted();
  if (step.error !== undefined) yield { type: "error", error: errorOf(step.error) };
  else if (step.isCut !== true) yield finish(step);
}

async function* reasoningParts(
  given: ScriptedText | ScriptedReasoning,
  options: AnswerOptions,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const { text, providerMetadata }: ScriptedReasoning =
    isRecord(given) && "text" in given ? (given as unknown as ScriptedReasoning) : { text: given as ScriptedText };
  yield { type: "reasoning-start", id: "reasoning" };
  for await (const delta of pieces(text, options)) yield { type: "reasoning-delta", id: "reasoning", delta };
  yield { type: "reasoning-end", id: "reasoning", ...present({ providerMetadata }) };
}

async function* callParts(call: ScriptedToolCall, options: AnswerOptions): AsyncGenerator<LanguageModelV4StreamPart> {
  const { name: toolName, input = {}, id = options.nextId(), providerMetadata } = call;
  const text = typeof input === "string" ? input : JSON.stringify(input);
  yield { type: "tool-input-start", id, toolName };
  for await (const delta of pieces(text, options)) yield { type: "tool-input-delta", id, delta };
  yield { type: "tool-input-end", id };
  yield { type: "tool-call", toolCallId: id, toolName, input: text, ...present({ providerMetadata }) };
}

async function* pieces(text: ScriptedText, { chunkLength, signal }: AnswerOptions): AsyncGenerator<string> {
  const iterator = typeof text === "string" ? cut(text, chunkLength) : iteratorOf(text);
  try {
    for (;;) {
      signal?.throwIfAborted();
      const next = await abortable(Promise.resolve(iterator.next()), signal);
      if (next.done === true) return;
      yield next.value;
    }
  } finally {
    // Not awaited: the iterator of a test may answer only once the test lets it.
    Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
}

function iteratorOf(text: Iterable<string> | AsyncIterable<string>): Iterator<string> | AsyncIterator<string> {
  return Symbol.asyncIterator in text ? text[Symbol.asyncIterator]() : text[Symbol.iterator]();
}

function* cut(text: string, length: number): Generator<string> {
  for (let start = 0; start < text.length; start += length) yield text.slice(start, start + length);
}

function finish({
  finishReason,
  usage = {},
  toolCalls = [],
  providerMetadata,
}: ScriptedStep): LanguageModelV4StreamPart {
  const unified = finishReason ?? (toolCalls.length > 0 ? "tool-calls" : "stop");
  const reason: LanguageModelV4FinishReason = typeof unified === "string" ? { unified, raw: undefined } : unified;
  return { type: "finish", finishReason: reason, usage: usageOf(usage), ...present({ providerMetadata }) };
}

function usageOf({
  inputTokens = 10,
  cachedTokens = 0,
  outputTokens = 5,
  reasoningTokens = 0,
}: NonNullable<ScriptedStep["usage"]>): LanguageModelV4Usage {
  return {
    inputTokens: { total: inputTokens, noCache: inputTokens - cachedTokens, cacheRead: cachedTokens, cacheWrite: 0 },
    outputTokens: { total: outputTokens, text: outputTokens - reasoningTokens, reasoning: reasoningTokens },
  };
}

function hasContent({ text, reasoning, toolCalls, content }: ScriptedStep): boolean {
  return text !== undefined || reasoning !== undefined || (toolCalls?.length ?? 0) > 0 || (content?.length ?? 0) > 0;
}

function errorOf(given: unknown): unknown {
  if (given instanceof Error || !isRecord(given) || typeof given.status !== "number") return given;
  const { status, message = `The scripted model answers ${status}.`, headers = {} } = given;
  return new APICallError({
    message: String(message),
    url: "http://scripted.invalid/",
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: headers as Record<string, string>,
  });
}
