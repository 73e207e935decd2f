// In place of the clients of the providers: each asks for the weather once, and repeats the result.
import { MockLanguageModelV4 } from "ai/test";

const said = "Bern: 20 degrees.";
const input = { city: "Bern", days: null };

/** Fails as a provider does for a request that it does not accept. */
function check(tools: unknown, results: string, isFirst: boolean): void {
  if (!Array.isArray(tools) || tools.length === 0) throw new Error("400: tools must be a list that is not empty");
  if (!isFirst && !results.includes("[20]")) throw new Error(`400: no result of the call in ${results}`);
}

interface ChatRequest {
  readonly messages: readonly unknown[];
  readonly tools: unknown;
  readonly tool_choice: unknown;
}

interface ChatMessage {
  role: "assistant";
  content: string | null;
  tool_calls?: unknown[];
}

export const openAIClient = {
  chat: {
    completions: {
      async create({ messages, tools }: ChatRequest): Promise<{ choices: [{ message: ChatMessage }] }> {
        const isFirst = messages.length === 1;
        check(tools, String((messages.at(-1) as { content?: unknown }).content), isFirst);
        const call = {
          id: "call_1",
          type: "function",
          function: { name: "forecast", arguments: JSON.stringify(input) },
        };
        const message: ChatMessage = isFirst
          ? { role: "assistant", content: null, tool_calls: [call] }
          : { role: "assistant", content: said };
        return { choices: [{ message }] };
      },
    },
  },
  embeddings: {
    async create({ input: texts }: { readonly model: string; readonly input: readonly string[] }) {
      return { data: texts.map((text) => ({ embedding: [text.length, /\d/.test(text) ? 1 : 0] })) };
    },
  },
  responses: {
    async create({
      input: items,
      tools,
    }: {
      readonly input: readonly unknown[];
      readonly tools: unknown;
      readonly tool_choice: unknown;
    }) {
      const isFirst = items.length === 1;
      check(tools, String((items.at(-1) as { output?: unknown }).output), isFirst);
      const call = { type: "function_call", call_id: "call_1", name: "forecast", arguments: JSON.stringify(input) };
      return { output: isFirst ? [call] : [], output_text: isFirst ? "" : said };
    },
  },
};

export const anthropicClient = {
  messages: {
    async create({ messages, tools }: ChatRequest): Promise<{ content: { type: string; text?: string }[] }> {
      const isFirst = messages.length === 1;
      check(tools, JSON.stringify(messages.at(-1)), isFirst);
      const use = { type: "tool_use", id: "toolu_1", name: "forecast", input: { city: "Bern" } };
      return { content: isFirst ? [use] : [{ type: "text", text: said }] };
    },
  },
};

export const googleClient = {
  models: {
    async generateContent(request: {
      readonly contents: readonly unknown[];
      readonly config: { readonly tools: unknown; readonly toolConfig: unknown };
    }) {
      const isFirst = request.contents.length === 1;
      check(request.config.tools, JSON.stringify(request.contents.at(-1)), isFirst);
      const part = isFirst ? { functionCall: { name: "forecast", args: { city: "Bern" } } } : { text: said };
      const candidates: [{ content: unknown }] = [{ content: { role: "model", parts: [part] } }];
      return { candidates, text: isFirst ? "" : said };
    },
  },
};

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** A model of the AI SDK. */
export const model = new MockLanguageModelV4({
  doGenerate: [
    {
      content: [{ type: "tool-call", toolCallId: "1", toolName: "forecast", input: '{"city":"Bern"}' }],
      finishReason: { unified: "tool-calls", raw: undefined },
      usage,
      warnings: [],
    },
    { content: [{ type: "text", text: said }], finishReason: { unified: "stop", raw: undefined }, usage, warnings: [] },
  ],
});
