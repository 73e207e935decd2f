import { Agent, request } from "node:http";
import { pathToFileURL } from "node:url";

/** One run: a tool call, then an answer. Each piece of the answer is handed over as it comes. */
export type Run = (onText: (text: string) => void) => Promise<void>;

/** Where a side finds its model, and the packages that are no dependency: by name, the path of each. */
export interface SideOptions {
  readonly url: string;
  readonly peers?: Readonly<Record<string, string>> | undefined;
  /** The tool is a request to `/tool` of the same server. */
  readonly isFarTool?: boolean | undefined;
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

/** As many idle connections as there were requests at once: Node keeps 256. */
const connections = new Agent({ keepAlive: true, maxFreeSockets: Number.POSITIVE_INFINITY });

/** The tool of all sides. */
function weatherTool({ url, isFarTool = false }: SideOptions): () => Promise<object> {
  return isFarTool ? async () => JSON.parse(await post(new URL("/tool", url), "{}")) : async () => weather;
}

/** Posts JSON, and gives the text that comes back; piece by piece too. */
function post(url: URL, body: string, onText: (text: string) => void = () => {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json", "content-length": Buffer.byteLength(body) };
    const asked = request(url, { method: "POST", agent: connections, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
        onText(chunk);
      });
      response.on("end", () => resolve(text));
      response.on("error", reject);
    });
    asked.on("error", reject);
    asked.end(body);
  });
}

/** Those that are compared. Each loads what it needs, and nothing else. */
export const sides: Readonly<Record<string, (options: SideOptions) => Promise<Run>>> = {
  async ours({ url, ...options }) {
    const { defineTool, Toolkit } = await import("toolweave");
    const { agent } = await import("toolweave/agent");
    const assistant = agent({ models: { bench: { url } }, defaultModel: "bench/bench" });
    const toolkit = new Toolkit({ delegate: assistant });
    toolkit.add(defineTool({ name: "weather", description, input, run: weatherTool({ url, ...options }) }));
    await toolkit.start();
    return async (onText) => {
      const stream = assistant.stream(question, { system, tools: ["weather"] });
      for await (const event of stream) if (event.type === "textDelta") onText(event.delta);
      await stream.result;
    };
  },

  async "AI SDK"({ url, ...options }) {
    const { isStepCount, jsonSchema, streamText, tool } = await import("ai");
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    const provider = createOpenAICompatible({
      name: "bench",
      baseURL: url,
      includeUsage: true,
      supportsStructuredOutputs: true,
    });
    const model = provider.languageModel("bench");
    const tools = {
      weather: tool({ description, inputSchema: jsonSchema(input), execute: weatherTool({ url, ...options }) }),
    };
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

  /** The floor: no library, no validation, no limit. */
  async "node:http"({ url, ...options }) {
    const run = weatherTool({ url, ...options });
    const endpoint = new URL(`${url}/chat/completions`);
    const definition = { type: "function", function: { name: "weather", description, parameters: input } };
    const ask = async (messages: readonly object[], onText: (text: string) => void) => {
      const call = { id: "", name: "", arguments: "" };
      let rest = "";
      const body = JSON.stringify({ model: "bench", messages, tools: [definition], stream: true });
      await post(endpoint, body, (chunk) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (!line.startsWith("data: {")) continue;
          const delta = JSON.parse(line.slice(6)).choices[0]?.delta ?? {};
          if (delta.content) onText(delta.content);
          const [piece] = delta.tool_calls ?? [];
          call.id ||= piece?.id ?? "";
          call.name ||= piece?.function.name ?? "";
          call.arguments += piece?.function.arguments ?? "";
        }
      });
      return call;
    };
    return async (onText) => {
      const messages: object[] = [
        { role: "system", content: system },
        { role: "user", content: question },
      ];
      for (;;) {
        const { id, ...called } = await ask(messages, onText);
        if (id === "") return;
        JSON.parse(called.arguments);
        messages.push({ role: "assistant", content: null, tool_calls: [{ id, type: "function", function: called }] });
        messages.push({ role: "tool", tool_call_id: id, content: JSON.stringify(await run()) });
      }
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
