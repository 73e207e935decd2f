import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";

/** What a prompt says of thinking. */
export interface Thinking {
  /** Default: as the model does by itself, or true where there is a budget above 0. */
  readonly thinking?: boolean | undefined;
  /** In tokens. */
  readonly thinkingBudget?: number | undefined;
}

/** What makes a model think, in the form of its provider. */
export type ThinkingOptions = Pick<LanguageModelV4CallOptions, "reasoning" | "providerOptions">;

type Effort = NonNullable<LanguageModelV4CallOptions["reasoning"]>;

/** The effort a budget stands for, where a model knows no budgets. */
const efforts: readonly (readonly [upToTokens: number, effort: Effort])[] = [
  [1_024, "minimal"],
  [4_096, "low"],
  [16_384, "medium"],
  [32_768, "high"],
  [Number.POSITIVE_INFINITY, "xhigh"],
];
/** Anthropic refuses less. */
const leastAnthropicBudget = 1_024;

/**
 * What a prompt says of thinking, as options for a model. Its package makes of the effort what the model knows: an effort, a level, a
 * budget of its own, or a warning. Those that know budgets, Anthropic and Google, are given the one of the prompt as well.
 */
export function thinkingOptions(model: LanguageModelV4, { thinking, thinkingBudget }: Thinking): ThinkingOptions {
  if (thinking === false || (thinking === undefined && thinkingBudget === 0)) return { reasoning: "none" };
  if (thinkingBudget === undefined || thinkingBudget === 0) {
    return thinking === true ? { reasoning: "medium", ...budgetOptions(model, undefined) } : {};
  }
  const effort = efforts.find(([upToTokens]) => thinkingBudget <= upToTokens)?.[1] ?? "medium";
  return { reasoning: effort, ...budgetOptions(model, thinkingBudget) };
}

function budgetOptions(
  { provider }: LanguageModelV4,
  budget: number | undefined,
): Pick<ThinkingOptions, "providerOptions"> {
  const names = provider.split(".");
  if (names.includes("anthropic") && budget !== undefined) {
    const budgetTokens = Math.max(leastAnthropicBudget, budget);
    return { providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens } } } };
  }
  if (names[0] === "google") {
    // Without this it thinks and does not say what.
    const thinkingConfig = { includeThoughts: true, ...(budget === undefined ? {} : { thinkingBudget: budget }) };
    return { providerOptions: { google: { thinkingConfig } } };
  }
  return {};
}
