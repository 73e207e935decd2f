import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4GenerateResult } from "@ai-sdk/provider";
import { generate, type ModelCall, type ModelQuestion } from "../../../src/agent/model/model-call.ts";
import { Models } from "../../../src/agent/model/models.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { RetryBudget } from "../../../src/lib/retry-budget.ts";
import { streamedParts } from "../answer-parts.ts";

export const apiKey = "key-of-the-tests-0123456789";

/** The real packages of the providers, against a server on this machine. */
export const providers: Readonly<Record<string, (url: string) => LanguageModelV4 | Promise<LanguageModelV4>>> = {
  anthropic: (url) => createAnthropic({ baseURL: `${url}/anthropic/v1`, apiKey })("claude-sonnet-4-5"),
  "anthropic without a package": async (url) => {
    const models = new Models({ models: { anthropic: { url: `${url}/anthropic/v1`, apiKey, api: "anthropic" } } });
    return (await models.choose({ model: "anthropic/claude-sonnet-4-5" })).model;
  },
  "openai responses": (url) => createOpenAI({ baseURL: `${url}/openai/v1`, apiKey })("gpt-5"),
  "openai chat": (url) => createOpenAI({ baseURL: `${url}/openai/v1`, apiKey }).chat("gpt-4.1"),
  google: (url) => createGoogle({ baseURL: `${url}/google/v1beta`, apiKey })("gemini-2.5-flash"),
  "google 3": (url) => createGoogle({ baseURL: `${url}/google/v1beta`, apiKey })("gemini-3-pro-preview"),
  mistral: (url) => createMistral({ baseURL: `${url}/mistral/v1`, apiKey })("mistral-medium-latest"),
  "a server of OpenAI's form": async (url) => {
    const models = new Models({ models: { vllm: { url: `${url}/openai/v1`, apiKey } } });
    return (await models.choose({ model: "vllm/glm-5" })).model;
  },
};

/** A call that loses no time. */
export function modelCall(changes: Partial<ModelCall> = {}): ModelCall {
  return {
    signal: new AbortController().signal,
    clock: systemClock,
    random: () => 0,
    budget: new RetryBudget(systemClock),
    modelAttempts: 3,
    modelTimeoutMs: 20_000,
    maxRetryWaitMs: 1_000,
    ...changes,
  };
}

export type Result = Pick<LanguageModelV4GenerateResult, "content" | "finishReason" | "usage" | "warnings">;
type Ask = (model: LanguageModelV4, question: ModelQuestion, call?: ModelCall) => Promise<Result>;

function chosen(model: LanguageModelV4) {
  return { model, provider: model.provider.split(".")[0] ?? "", modelId: model.modelId };
}

/** Both ways to ask a model. What is streamed is put together again, and must come to the same. */
export const ways: Readonly<Record<string, Ask>> = {
  "at once": (model, question, call = modelCall()) => generate(chosen(model), question, call),
  "in a stream": async (model, question, call = modelCall()) => {
    const texts = new Map<string, Extract<LanguageModelV4Content, { type: "text" | "reasoning" }>>();
    const content: LanguageModelV4Content[] = [];
    const result: Partial<Record<"finishReason" | "usage" | "warnings", unknown>> = {};
    for await (const part of streamedParts(chosen(model), question, call)) {
      if (part.type === "text-start" || part.type === "reasoning-start") {
        const each = { type: part.type === "text-start" ? ("text" as const) : ("reasoning" as const), text: "" };
        texts.set(part.id, each);
        content.push(each);
      }
      const open = "id" in part && typeof part.id === "string" ? texts.get(part.id) : undefined;
      if (open !== undefined && "providerMetadata" in part)
        Object.assign(open, { providerMetadata: part.providerMetadata });
      if (open !== undefined && (part.type === "text-delta" || part.type === "reasoning-delta"))
        open.text += part.delta;
      if (part.type === "tool-call") content.push(part);
      if (part.type === "stream-start") result.warnings = part.warnings;
      if (part.type === "finish") Object.assign(result, { finishReason: part.finishReason, usage: part.usage });
    }
    return { ...result, content } as unknown as Result;
  },
};

export function textIn({ content }: Result): string {
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** A user who says something. */
export function says(text: string): ModelQuestion {
  return { prompt: [{ role: "user", content: [{ type: "text", text }] }] };
}
