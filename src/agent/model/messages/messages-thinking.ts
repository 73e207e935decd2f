import type { LanguageModelV4CallOptions, SharedV4Warning } from "@ai-sdk/provider";
import { isRecord } from "../../../lib/value.ts";
import type { Fields } from "../wire/wire-fields.ts";
import type { ClaudeTraits } from "./claude-traits.ts";

type Effort = NonNullable<LanguageModelV4CallOptions["reasoning"]>;

/** The thinking of a request, in the form of the API. */
export interface ClaudeThinking {
  readonly thinking?: Fields | undefined;
  readonly effort?: unknown;
  /** Tokens that the limit of the answer has to hold besides. */
  readonly budget: number;
  /** It thinks, which excludes settings of sampling. */
  readonly isOn: boolean;
}

/** The API refuses a smaller budget. */
const leastBudget = 1_024;

/** The parts of the longest answer that a model may think, for those that know no effort. */
const shares: Readonly<Partial<Record<Effort, number>>> = {
  minimal: 0.02,
  low: 0.1,
  medium: 0.3,
  high: 0.6,
  xhigh: 0.9,
};

/**
 * The thinking that a call asks for: by `thinking` and `effort` of the provider's own options, else by `reasoning`. Where the model refuses a
 * form, it gets the nearest one, with a warning.
 */
export function claudeThinking(
  { reasoning = "provider-default" }: LanguageModelV4CallOptions,
  given: Fields,
  traits: ClaudeTraits,
  warnings: SharedV4Warning[],
): ClaudeThinking {
  const own = isRecord(given.thinking) ? given.thinking : undefined;
  const isAsked = reasoning !== "provider-default" && given.effort === undefined;
  const byEffort = isAsked ? thinkingOf(reasoning, traits) : {};
  const thinking = accepted(own ?? byEffort.thinking, traits, warnings);
  const isOff = thinking?.type === "disabled";
  const effort = given.effort ?? (isOff ? undefined : byEffort.effort);
  if (thinking === undefined) return { effort, budget: 0, isOn: false };
  const { type, display, budgetTokens = leastBudget } = thinking;
  const isEnabled = type === "enabled";
  const budget = isEnabled ? Number(budgetTokens) : 0;
  const fields = { type, display, ...(isEnabled ? { budget_tokens: budget } : {}) };
  return { thinking: fields, effort, budget, isOn: !isOff };
}

function thinkingOf(reasoning: Effort, traits: ClaudeTraits): { readonly thinking?: Fields; readonly effort?: string } {
  if (reasoning === "none") {
    // Models that always think do it shortest so.
    return traits.canNotThink || traits.thinksBetweenTools ? { thinking: { type: "disabled" } } : { effort: "low" };
  }
  if (traits.isAdaptive) {
    const effort = reasoning === "minimal" ? "low" : reasoning === "xhigh" && !traits.takesXhigh ? "high" : reasoning;
    // Without it some models think in secret.
    return { thinking: { type: "adaptive", display: "summarized" }, effort };
  }
  const share = shares[reasoning] ?? 0.3;
  return { thinking: { type: "enabled", budgetTokens: Math.max(leastBudget, Math.round(traits.maxTokens * share)) } };
}

function accepted(
  thinking: Fields | undefined,
  { canNotThink, thinksBetweenTools, takesBudget }: ClaudeTraits,
  warnings: SharedV4Warning[],
): Fields | undefined {
  if (thinking?.type === "disabled" && !canNotThink) {
    const details = `The model always thinks${thinksBetweenTools ? ", and is asked to do it between tools alone" : ""}.`;
    warnings.push({ type: "unsupported", feature: "thinking", details });
    return thinksBetweenTools ? { type: "between_tools" } : undefined;
  }
  if (thinking?.type === "enabled" && !takesBudget) {
    const details = "The model knows no budget of thinking, and decides itself.";
    warnings.push({ type: "unsupported", feature: "thinking budget", details });
    return { type: "adaptive", display: "summarized" };
  }
  return thinking;
}
