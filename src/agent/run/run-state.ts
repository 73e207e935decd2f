import { randomUUID } from "node:crypto";
import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { AgentSource, AgentStep, AgentToolCall, TokenUsage } from "../../core/agent-event.ts";
import { isRecord } from "../../lib/value.ts";

export const noUsage: TokenUsage = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
});

/** The messages between a user, a model and its tools: a plain JSON value that a later run continues. */
export interface Conversation {
  /** In the form of the model port, without the system prompt. */
  readonly messages: LanguageModelV4Prompt;
  /** Tool calls made so far. */
  readonly toolCalls: number;
}

/** The progress of a run: a plain JSON value. */
export interface RunState {
  readonly id: string;
  /** The conversation so far, without the system prompt. */
  readonly messages: LanguageModelV4Prompt;
  readonly steps: AgentStep[];
  readonly calls: AgentToolCall[];
  /** Tool calls of the conversation, also those before this run. */
  toolCalls: number;
  usage: TokenUsage;
  /** The usage of runs inside this one, by their ids. It is included in `usage`. */
  readonly inner: Record<string, TokenUsage>;
  repairs: number;
  /** The sources that the model has named, each once. */
  readonly sources: AgentSource[];
  /** The aliases of tools whose format guidance the model has got. */
  readonly guided: string[];
}

/** The state of a run before its first step. */
export function newRunState(messages: LanguageModelV4Prompt, toolCalls: number): RunState {
  return {
    id: randomUUID(),
    messages: [...messages],
    steps: [],
    calls: [],
    toolCalls,
    usage: noUsage,
    inner: {},
    repairs: 0,
    sources: [],
    guided: [],
  };
}

/** The conversation of a run so far. */
export function conversationIn({ messages, toolCalls }: RunState): Conversation {
  return { messages: [...messages], toolCalls };
}

/** A request of the run itself to answer again, which is shown to no user. */
export function repairRequest(text: string): LanguageModelV4Message {
  return { role: "user", content: [{ type: "text", text }], providerOptions: { toolweave: { repair: true } } };
}

/** True for a request of a run to answer again. */
export function isRepairRequest({ role, providerOptions }: LanguageModelV4Message): boolean {
  return role === "user" && isRecord(providerOptions?.toolweave) && providerOptions.toolweave.repair === true;
}

/** The price of a million tokens, in any currency that all models share. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Of input tokens read from the cache of the provider. Default: `input`. */
  readonly cachedInput?: number | undefined;
}

/**
 * The usage of one call of a model. A number that is missing counts as 0.
 *
 * @param usage - of a model that may not keep to the port: some report nothing, or a part
 */
export function usageOf(usage: unknown, price: ModelPrice | undefined): TokenUsage {
  const { inputTokens, outputTokens } = isRecord(usage) ? usage : {};
  const input = countIn(inputTokens, "total");
  const output = countIn(outputTokens, "total");
  const cached = countIn(inputTokens, "cacheRead");
  const counts = {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    reasoningTokens: countIn(outputTokens, "reasoning"),
  };
  if (price === undefined) return counts;
  const { cachedInput = price.input } = price;
  const cost = ((input - cached) * price.input + cached * cachedInput + output * price.output) / 1_000_000;
  return { ...counts, cost };
}

function countIn(tokens: unknown, key: string): number {
  const count = isRecord(tokens) ? tokens[key] : undefined;
  return typeof count === "number" && Number.isFinite(count) ? count : 0;
}

/** The sum of both. */
export function sum(a: TokenUsage, b: TokenUsage): TokenUsage {
  const counts = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
  };
  if (a.cost === undefined && b.cost === undefined) return counts;
  return { ...counts, cost: (a.cost ?? 0) + (b.cost ?? 0) };
}

/** The first minus the second. */
export function difference(a: TokenUsage, b: TokenUsage): TokenUsage {
  const counts = {
    inputTokens: a.inputTokens - b.inputTokens,
    outputTokens: a.outputTokens - b.outputTokens,
    cachedInputTokens: a.cachedInputTokens - b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens - b.reasoningTokens,
  };
  return a.cost === undefined ? counts : { ...counts, cost: a.cost - (b.cost ?? 0) };
}

/** True for the usage in the `meta` of an agent's answer. */
export function isUsage(value: unknown): value is TokenUsage {
  return isRecord(value) && Object.keys(noUsage).every((name) => typeof value[name] === "number");
}
