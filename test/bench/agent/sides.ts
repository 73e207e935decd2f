import { pathToFileURL } from "node:url";

/** One run: a tool call, then an answer. Each piece of the answer is handed over as it comes. */
export type Run = (onText: (text: string) => void) => Promise<void>;

/** Where a side finds its model, and the packages that are no dependency: by name, the path of each. */
export interface SideOptions {
  readonly url: string;
  readonly peers?: Readonly<Record<string, string>> | undefined;
}

const question = "What is the weather in Bern?";
const system = "You answer in one sentence. You look up the weather before you speak of it.";
const description = "Says what the weather is in a city.";
const input = {
  type: "object" as const,
  properties: { city: { type: "string" as const } },
  required: ["city"],
  additionalProperties: false,
};
const weather = { temperature: 21, sky: "clear" };

/** Those that are compared. Each loads what it needs, and nothing else. */
export const sides: Readonly<Record<string, (options: SideOptions) => Promise<Run>>> = {
  async ours({ url }) {
    const { defineTool, Toolkit } = await import("toolweave");
    const { agent } = await import("toolweave/agent");
    const assistant = agent({ models: { bench: { url } }, defaultModel: "bench/bench" });
    const toolkit = new Toolkit({ delegate: assistant });
    toolkit.add(defineTool({ name: "weather", description, input, run: async () => weather }));
    await toolkit.start();
    return async (onText) => {
      const stream = assistant.stream(question, { system, tools: ["weather"] });
      for await (const event of stream) if (event.type === "textDelta") onText(event.delta);
      await stream.result;
    };
  },

  async "AI SDK"({ url }) {
    const { isStepCount, jsonSchema, streamText, tool } = await import("ai");
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const provider = createOpenAICompatible({
      name: "bench",
      baseURL: url,
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
    const model = provider.languageModel("bench");
    const tools = { weather: tool({ description, inputSchema: jsonSchema(input), execute: async () => weather }) };
    return async (onText) => {
      const { textStream } = streamText({
        model,
        instructions: system,
        prompt: question,
        tools,
        stopWhen: isStepCount(20),
      });
      for await (const text of textStream) onText(text);
    };
  },

  async LangChain({ url, peers = {} }) {
    const load = async (name: string) => import(pathToFileURL(peers[name] ?? name).href);
    const { createAgent } = await load("langchain");
    const { tool } = await load("@langchain/core/tools");
    const { ChatOpenAI } = await load("@langchain/openai");
    const model = new ChatOpenAI({ model: "bench", apiKey: "none", configuration: { baseURL: url } });
    const tools = [tool(async () => JSON.stringify(weather), { name: "weather", description, schema: input })];
    const assistant = createAgent({ model, tools, systemPrompt: system });
    return async (onText) => {
      const asked = { messages: [{ role: "user", content: question }] };
      for await (const [message] of await assistant.stream(asked, { streamMode: "messages" }))
        if (message.getType() === "ai" && message.text !== "") onText(message.text);
    };
  },
};
