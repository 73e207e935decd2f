import { inspect } from "node:util";
import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { thinkingOptions } from "../../../src/agent/model/provider-quirks.ts";
import { failure, rejection } from "../../support/failure.ts";
import { type ModelServer, modelServer, type WireScript } from "../../support/model-server/server.ts";
import { verifies } from "../../support/verifies.ts";
import { apiKey, modelCall, providers, type Result, says, textIn, ways } from "./support.ts";

const forecast = {
  type: "function" as const,
  name: "weather__forecast",
  description: "Tells the weather.",
  inputSchema: {
    type: "object" as const,
    properties: { city: { type: "string" as const }, days: { type: "integer" as const } },
    required: ["city"],
    additionalProperties: false,
  },
};
const verdict = {
  type: "object" as const,
  properties: { verdict: { type: "string" as const } },
  required: ["verdict"],
  additionalProperties: false,
};

type AssistantPart = Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number];

/** The answer of the model, as the message of the next request. */
function asMessage({ content }: Result): LanguageModelV4Message {
  return {
    role: "assistant",
    content: content.flatMap((part): AssistantPart[] => {
      const options = part.providerMetadata === undefined ? {} : { providerOptions: part.providerMetadata };
      if (part.type === "text" || part.type === "reasoning") return [{ type: part.type, text: part.text, ...options }];
      if (part.type !== "tool-call") return [];
      const { toolCallId, toolName, input } = part;
      return [{ type: "tool-call" as const, toolCallId, toolName, input: JSON.parse(input), ...options }];
    }),
  };
}

function results({ content }: Result, answer: string): LanguageModelV4Message {
  return {
    role: "tool",
    content: content.flatMap((part) =>
      part.type === "tool-call"
        ? [
            {
              type: "tool-result",
              toolCallId: part.toolCallId,
              toolName: part.toolName,
              output: { type: "text", value: answer },
            },
          ]
        : [],
    ),
  };
}

/** The body of a request, as text. */
function asked(server: ModelServer, index: number): string {
  return JSON.stringify(server.requests[index]?.body);
}

const cases = Object.entries(providers).flatMap(([name, make]) =>
  Object.entries(ways).map(([way, ask]) => ({ name, way, make, ask })),
);

describe.each(cases)("$name, $way", ({ name, way, make, ask }) => {
  async function setUp(script: WireScript) {
    const server = await modelServer(script);
    return { server, model: await make(server.url), [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }

  test("text, its end and its tokens come through", async () => {
    const usage = { input: 100, cached: 40, output: 20, reasoning: 0 };
    await using setting = await setUp([
      { text: "Grüße 🌍 from a model.", usage },
      { text: "Cut", finish: "length" },
    ]);
    const { server, model } = setting;
    const question = { ...says("Hello"), maxOutputTokens: 2_000 };
    const result = await ask(model, {
      ...question,
      prompt: [{ role: "system", content: "Be kind." }, ...question.prompt],
    });
    expect(textIn(result)).toBe("Grüße 🌍 from a model.");
    expect(result.finishReason.unified).toBe("stop");
    expect(result.usage.inputTokens).toMatchObject({ total: 100, cacheRead: 40 });
    expect(result.usage.outputTokens.total).toBe(20);
    expect(asked(server, 0)).toContain("Be kind.");
    expect((await ask(model, question)).finishReason.unified).toBe("length");
    expect(server.refused).toEqual([]);
  });

  verifies("A2", "two calls at a time go there and back, with a thought before them", async () => {
    const calls = [
      { name: forecast.name, input: { city: "Bern", days: 2 } },
      { name: forecast.name, input: { city: "Zürich" } },
    ];
    const reasoning = name.startsWith("anthropic") || name.startsWith("google") ? "I should look." : "";
    await using setting = await setUp([{ reasoning, text: "Looking.", toolCalls: calls }, { text: "Sunny." }]);
    const { server, model } = setting;
    const thinking = reasoning === "" ? {} : thinkingOptions(model, { thinking: true });
    const question = { ...says("How is it?"), tools: [forecast], toolChoice: { type: "auto" as const }, ...thinking };
    const first = await ask(model, question);
    expect(first.finishReason.unified).toBe("tool-calls");
    const made = first.content.flatMap((part) => (part.type === "tool-call" ? [JSON.parse(part.input)] : []));
    expect(made).toEqual(calls.map(({ input }) => input));
    const thoughts = first.content.filter(({ type }) => type === "reasoning");
    expect(thoughts.length > 0).toBe(reasoning !== "");
    const prompt: LanguageModelV4Prompt = [...question.prompt, asMessage(first), results(first, "20 degrees")];
    expect(textIn(await ask(model, { ...question, prompt }))).toBe("Sunny.");
    expect(asked(server, 1)).toContain("20 degrees");
    expect(server.refused).toEqual([]);
  });

  verifies("A2", "an image, a PDF and a text are sent", async () => {
    await using setting = await setUp([{ text: "Seen." }, { text: "Seen." }, { text: "Seen." }]);
    const { server, model } = setting;
    const file = (mediaType: string, filename: string, bytes: string): LanguageModelV4FilePart => ({
      type: "file",
      mediaType,
      filename,
      data: { type: "data", data: new TextEncoder().encode(bytes) },
    });
    const files = [
      file("image/png", "a.png", "\x89PNG\r\n\x1a\n...."),
      file("application/pdf", "b.pdf", "%PDF-1.7 ...."),
    ];
    for (const each of files) {
      const content = [{ type: "text" as const, text: "What is it?" }, each];
      expect(textIn(await ask(model, { prompt: [{ role: "user", content }] }))).toBe("Seen.");
    }
    expect(asked(server, 0)).toContain(Buffer.from("\x89PNG\r\n\x1a\n....", "utf8").toString("base64"));
    expect(asked(server, 1)).toContain(Buffer.from("%PDF-1.7 ....").toString("base64"));
    expect(server.refused).toEqual([]);
  });

  verifies("A3", "structured output is asked for in the provider's own way", async () => {
    await using setting = await setUp(() => ({ text: '{"verdict":"good"}' }));
    const { server, model } = setting;
    const responseFormat = { type: "json" as const, schema: verdict, name: "verdict" };
    const result = await ask(model, { ...says("Judge it."), responseFormat });
    expect(JSON.parse(textIn(result))).toEqual({ verdict: "good" });
    expect(asked(server, 0)).toContain('"verdict":{"type":"string"}');
    expect(server.refused).toEqual([]);
  });

  verifies("A6", "thinking is asked for, with its budget, and not", async () => {
    await using setting = await setUp(() => ({ text: "Done." }));
    const { server, model } = setting;
    for (const said of [{ thinkingBudget: 5_000 }, { thinking: true }, { thinking: false }]) {
      await ask(model, { ...says("Think."), ...thinkingOptions(model, said) });
    }
    const anthropic = [
      { thinking: { type: "enabled", budget_tokens: 5_000 } },
      { thinking: { type: "enabled", budget_tokens: expect.any(Number) } },
      { thinking: { type: "disabled" } },
    ];
    const wanted: Readonly<Record<string, readonly unknown[]>> = {
      anthropic,
      "anthropic without a package": anthropic,
      "openai responses": [
        { reasoning: { effort: "medium" } },
        { reasoning: { effort: "medium" } },
        { reasoning: { effort: expect.any(String) } },
      ],
      google: [
        { generationConfig: { thinkingConfig: { thinkingBudget: 5_000, includeThoughts: true } } },
        { generationConfig: { thinkingConfig: { thinkingBudget: expect.any(Number), includeThoughts: true } } },
        { generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
      ],
      "google 3": [
        { generationConfig: { thinkingConfig: { thinkingBudget: 5_000, includeThoughts: true } } },
        { generationConfig: { thinkingConfig: { thinkingLevel: expect.any(String), includeThoughts: true } } },
        { generationConfig: { thinkingConfig: { thinkingLevel: "low" } } },
      ],
      mistral: [
        { reasoning_effort: expect.any(String) },
        { reasoning_effort: expect.any(String) },
        { reasoning_effort: "none" },
      ],
      "a server of OpenAI's form": [
        { reasoning_effort: "medium" },
        { reasoning_effort: "medium" },
        { reasoning_effort: "none" },
      ],
    };
    for (const [index, body] of (wanted[name] ?? []).entries())
      expect(server.requests[index]?.body).toMatchObject(body as object);
    expect(server.refused).toEqual([]);
  });

  verifies("A6", "what is overloaded is asked again when it says", async () => {
    const headers = { "retry-after": "0.01" };
    await using setting = await setUp([
      { status: 429, message: "Slow down.", headers },
      { status: 503 },
      { text: "Here." },
    ]);
    expect(textIn(await ask(setting.model, says("Hello")))).toBe("Here.");
    expect(setting.server.requests).toHaveLength(3);
  });

  verifies("A6", "a failure says what the provider said, and nothing of the request or the key", async () => {
    await using setting = await setUp([
      { status: 401, message: `Incorrect API key provided: ${apiKey}.` },
      { status: 404, message: "There is no such model." },
      { fault: "garbage" },
    ]);
    const question = says("Top secret question.");
    const unauthorized = await failure(ask(setting.model, question));
    expect(unauthorized).toMatchObject({ code: "MODEL_FAILED", details: { status: 401 } });
    expect(unauthorized.message).toContain("Incorrect API key provided: ***.");
    const missing = await failure(ask(setting.model, question));
    expect(missing).toMatchObject({ code: "MODEL_FAILED", details: { status: 404, model: setting.model.modelId } });
    expect(missing.message).toContain("There is no such model.");
    const garbled = await failure(ask(setting.model, question, modelCall({ modelAttempts: 1 })));
    expect(garbled.code).toBe("MODEL_FAILED");
    for (const error of [unauthorized, missing, garbled]) {
      const everything = inspect(error, { depth: 20, showHidden: true });
      expect(everything).not.toContain(apiKey);
      expect(everything).not.toContain("Top secret");
    }
    expect(setting.server.requests).toHaveLength(3);
  });

  verifies("A6", "a connection that breaks halfway is a failure, not half an answer", async () => {
    const text = "A long answer that takes its time to be told.";
    await using setting = await setUp(() => ({ text, fault: "cut" }));
    const error = await failure(ask(setting.model, says("Hello"), modelCall({ modelAttempts: 1 })));
    expect(error).toMatchObject({ code: "MODEL_FAILED" });
  });

  test("an abort ends the request on the wire", async () => {
    const text = "A long answer that takes its time to be told.";
    await using setting = await setUp(() => ({ text, fault: "hang" }));
    const controller = new AbortController();
    const asking = rejection(ask(setting.model, says("Hello"), modelCall({ signal: controller.signal })));
    await expect.poll(() => setting.server.requests.length).toBe(1);
    controller.abort("closing time");
    expect(await asking).toBe("closing time");
    await setting.server.idle();
    expect(setting.server.open).toBe(0);
  });

  if (way === "at once") return;
  test("a stream that ends politely halfway is a failure too", async () => {
    await using setting = await setUp(() => ({ text: "A long answer that takes its time.", fault: "end" }));
    const { message } = await failure(ask(setting.model, says("Hello"), modelCall({ modelAttempts: 1 })));
    expect(message).toMatch(/ended before it was finished/);
  });
});

test("nobody there is MODEL_FAILED, after all attempts", async () => {
  const server = await modelServer([]);
  const model = await providers.anthropic?.(server.url);
  await server[Symbol.asyncDispose]();
  if (model === undefined) throw new Error("no provider");
  const { message } = await failure((ways["at once"] ?? (() => Promise.reject()))(model, says("Hello")));
  expect(message).toMatch(
    /^The model anthropic\/claude-sonnet-4-5 failed: Cannot connect to API: .*It was tried 3 times\.$/,
  );
});
