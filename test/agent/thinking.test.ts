import { expect } from "vitest";
import { type Thinking, type ThinkingOptions, thinkingOptions } from "../../src/agent/model/provider-quirks.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { verifies } from "../support/verifies.ts";

const thoughts = { includeThoughts: true };

const table: readonly (readonly [provider: string, said: Thinking, options: ThinkingOptions])[] = [
  ["openai.responses", {}, {}],
  ["anthropic.messages", {}, {}],
  ["google.generative-ai", {}, {}],
  ["openai.responses", { thinking: true }, { reasoning: "medium" }],
  ["anthropic.messages", { thinking: true }, { reasoning: "medium" }],
  [
    "google.generative-ai",
    { thinking: true },
    { reasoning: "medium", providerOptions: { google: { thinkingConfig: thoughts } } },
  ],
  ["mistral.chat", { thinking: true }, { reasoning: "medium" }],
  ["ollama.chat", { thinking: true }, { reasoning: "medium" }],
  ["anthropic.messages", { thinking: false }, { reasoning: "none" }],
  ["google.generative-ai", { thinking: false, thinkingBudget: 5_000 }, { reasoning: "none" }],
  ["openai.responses", { thinkingBudget: 0 }, { reasoning: "none" }],
  ["openai.responses", { thinking: true, thinkingBudget: 0 }, { reasoning: "medium" }],
  ["openai.responses", { thinkingBudget: 1_024 }, { reasoning: "minimal" }],
  ["openai.responses", { thinkingBudget: 4_096 }, { reasoning: "low" }],
  ["mistral.chat", { thinkingBudget: 10_000 }, { reasoning: "medium" }],
  ["ollama.chat", { thinking: true, thinkingBudget: 20_000 }, { reasoning: "high" }],
  ["openai.chat", { thinkingBudget: 100_000 }, { reasoning: "xhigh" }],
  [
    "anthropic.messages",
    { thinkingBudget: 8_000 },
    { reasoning: "medium", providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 8_000 } } } },
  ],
  [
    "vertex.anthropic.messages",
    { thinking: true, thinkingBudget: 100 },
    { reasoning: "minimal", providerOptions: { anthropic: { thinking: { type: "enabled", budgetTokens: 1_024 } } } },
  ],
  [
    "google.generative-ai",
    { thinkingBudget: 8_000 },
    {
      reasoning: "medium",
      providerOptions: { google: { thinkingConfig: { ...thoughts, thinkingBudget: 8_000 } } },
    },
  ],
];

for (const [provider, said, options] of table) {
  verifies("A6", `${provider} is asked ${JSON.stringify(options)} for ${JSON.stringify(said)}`, () => {
    expect(thinkingOptions(scriptedModel([], { provider }), said)).toEqual(options);
  });
}
