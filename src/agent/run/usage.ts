import type { LanguageModelV4Usage } from "@ai-sdk/provider";
import type { TokenUsage } from "../../core/agent-event.ts";
import { isRecord } from "../../lib/value.ts";

/** The price of a million tokens, in any currency that all models share. */
export interface ModelPrice {
  readonly input: number;
  readonly output: number;
  /** Of input tokens read from the cache of the provider. Default: `input`. */
  readonly cachedInput?: number | undefined;
}

export const noUsage: TokenUsage = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
});

/** The usage of one call of a model. */
export function usageOf(
  { inputTokens, outputTokens }: LanguageModelV4Usage,
  price: ModelPrice | undefined,
): TokenUsage {
  const input = inputTokens.total ?? 0;
  const output = outputTokens.total ?? 0;
  const cached = inputTokens.cacheRead ?? 0;
  const counts = {
    inputTokens: input,
    outputTokens: output,
    cachedInputTokens: cached,
    reasoningTokens: outputTokens.reasoning ?? 0,
  };
  if (price === undefined) return counts;
  const { cachedInput = price.input } = price;
  const cost = ((input - cached) * price.input + cached * cachedInput + output * price.output) / 1_000_000;
  return { ...counts, cost };
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
