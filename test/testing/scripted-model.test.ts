import { APICallError, type LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { generateText, isStepCount, jsonSchema, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { type ScriptedModel, type ScriptedStep, scriptedModel } from "../../src/testing/index.ts";
import { rejection } from "../support/failure.ts";

const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "Hello" }] }];

async function parts(model: ScriptedModel, abortSignal?: AbortSignal): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await model.doStream({ prompt, ...(abortSignal && { abortSignal }) });
  const all: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) all.push(part);
  return all;
}

describe("what it says", () => {
  const step: ScriptedStep = {
    reasoning: { text: "hm", providerMetadata: { anthropic: { signature: "s" } } },
    text: "Twenty degrees.",
    toolCalls: [
      { name: "forecast", input: { city: "Bern" } },
      { name: "odd", input: "{not json", id: "mine" },
    ],
    usage: { inputTokens: 100, cachedTokens: 60, outputTokens: 20, reasoningTokens: 8 },
    providerMetadata: { anthropic: { container: null } },
  };

  test("is the same at once and in a stream", async () => {
    const model = scriptedModel([step, step], { chunkLength: 4 });
    const result = await model.doGenerate({ prompt });
    expect(result).toEqual({
      content: [
        { type: "reasoning", text: "hm", providerMetadata: { anthropic: { signature: "s" } } },
        { type: "text", text: "Twenty degrees." },
        { type: "tool-call", toolCallId: "call-1", toolName: "forecast", input: '{"city":"Bern"}' },
        { type: "tool-call", toolCallId: "mine", toolName: "odd", input: "{not json" },
      ],
      finishReason: { unified: "tool-calls", raw: undefined },
      usage: {
        inputTokens: { total: 100, noCache: 40, cacheRead: 60, cacheWrite: 0 },
        outputTokens: { total: 20, text: 12, reasoning: 8 },
      },
      providerMetadata: { anthropic: { container: null } },
      response: { modelId: "model" },
      warnings: [],
    });
    const streamed = await parts(model);
    const deltas = streamed.filter((part) => part.type === "text-delta").map(({ delta }) => delta);
    expect(deltas).toEqual(["Twen", "ty d", "egre", "es."]);
    expect(streamed.filter((part) => part.type === "tool-call")).toEqual([
      { type: "tool-call", toolCallId: "call-2", toolName: "forecast", input: '{"city":"Bern"}' },
      { type: "tool-call", toolCallId: "mine", toolName: "odd", input: "{not json" },
    ]);
    expect(streamed.at(-1)).toEqual({
      type: "finish",
      finishReason: result.finishReason,
      usage: result.usage,
      providerMetadata: result.providerMetadata,
    });
  });

  test("may be computed from what is asked", async () => {
    const model = scriptedModel(async ({ prompt: asked }, index) => `${index}: ${asked.length} message`);
    await model.doGenerate({ prompt });
    expect((await model.doGenerate({ prompt })).content).toEqual([{ type: "text", text: "1: 1 message" }]);
    expect(model.stepsLeft).toBeUndefined();
  });

  test("has pieces of its own where it brings them", async () => {
    const model = scriptedModel([{ text: ["a", "b"] }, { text: ["a", "b"] }]);
    expect((await parts(model)).filter(({ type }) => type === "text-delta")).toHaveLength(2);
    expect((await model.doGenerate({ prompt })).content).toEqual([{ type: "text", text: "ab" }]);
  });

  test("is what the AI SDK can work with", async () => {
    const forecast = tool({
      inputSchema: jsonSchema<{ city: string }>({ type: "object", properties: { city: { type: "string" } } }),
      execute: ({ city }) => `sunny in ${city}`,
    });
    const steps = [{ toolCalls: [{ name: "forecast", input: { city: "Bern" } }] }, "It is sunny."];
    const options = { tools: { forecast }, prompt: "How is it?", stopWhen: isStepCount(3) };
    const generated = await generateText({ model: scriptedModel(steps), ...options });
    expect(generated.text).toBe("It is sunny.");
    expect(generated.totalUsage).toMatchObject({ inputTokens: 20, outputTokens: 10 });
    expect(await streamText({ model: scriptedModel(steps), ...options }).text).toBe("It is sunny.");
  });
});

describe("what it remembers", () => {
  test("is what it was asked, and nothing changes it later", async () => {
    const model = scriptedModel(["yes"]);
    const data = new Uint8Array([1]);
    const file = { type: "file" as const, mediaType: "image/png", data: { type: "data" as const, data } };
    const asked = {
      prompt: [{ role: "user" as const, content: [file] }],
      tools: [{ type: "function" as const, name: "forecast", inputSchema: { type: "object" as const } }],
      toolChoice: { type: "auto" as const },
      responseFormat: { type: "json" as const },
      providerOptions: { anthropic: { thinking: { type: "adaptive" } } },
      temperature: 0.5,
      seed: 7,
      abortSignal: AbortSignal.timeout(60_000),
    };
    const { abortSignal: _, ...expected } = structuredClone({ ...asked, abortSignal: undefined });
    await model.doGenerate(asked);
    data[0] = 9;
    asked.prompt.length = 0;
    expect(model.requests).toEqual([{ ...expected, stream: false }]);
  });
});

describe("how it fails", () => {
  test("says that the script has run out, and what it was asked", async () => {
    const model = scriptedModel(["once"]);
    expect(model.stepsLeft).toBe(1);
    await model.doGenerate({ prompt });
    expect(model.stepsLeft).toBe(0);
    const error = await rejection(model.doGenerate({ prompt }));
    expect(String(error)).toMatch(/model has 1 step, and there is one request more.*Hello/);
    expect(model.requests).toHaveLength(2);
  });

  test("as an HTTP provider would", async () => {
    const model = scriptedModel([{ error: { status: 429, message: "slow down", headers: { "retry-after": "2" } } }]);
    const error = await rejection(parts(model));
    expect(APICallError.isInstance(error) && error).toMatchObject({
      message: "slow down",
      statusCode: 429,
      isRetryable: true,
      responseHeaders: { "retry-after": "2" },
    });
  });

  test("in the middle: by a part, by an end, by a broken stream", async () => {
    const reason = new Error("overloaded");
    const broken = async function* () {
      yield "half";
      throw reason;
    };
    const steps: ScriptedStep[] = [{ text: "half", error: reason }, { text: "half", isCut: true }, { text: broken() }];
    const model = scriptedModel([...steps, { text: "half", error: reason }, { text: "half", isCut: true }]);
    expect((await parts(model)).at(-1)).toEqual({ type: "error", error: reason });
    expect((await parts(model)).at(-1)?.type).toBe("text-end");
    expect(await rejection(parts(model))).toBe(reason);
    expect(await rejection(model.doGenerate({ prompt }))).toBe(reason);
    expect((await model.doGenerate({ prompt })).finishReason.unified).toBe("interrupted");
  });

  test.each([
    ["a step of another form", [{ txt: "a" }], /no option "txt" of a step.*Did you mean "text"/],
    ["a call without a name", [{ toolCalls: [{ input: {} }] }], /toolCalls\[0\]\.name must be the name of a tool/],
    ["no script", "hello", /script must be a list of steps/],
  ])("refuses %s", (_, script, message) => {
    expect(() => Reflect.apply(scriptedModel, undefined, [script])).toThrow(message);
  });
});

describe("an abort", () => {
  test("ends a request that waits at a gate, and one that streams", async () => {
    const shut = Promise.withResolvers<string>();
    const slow = async function* () {
      yield "first";
      yield await shut.promise;
    };
    const model = scriptedModel([{ text: "never", gate: shut.promise }, { text: slow() }]);
    const first = new AbortController();
    const waiting = rejection(model.doGenerate({ prompt, abortSignal: first.signal }));
    first.abort("closing time");
    expect(await waiting).toBe("closing time");

    const second = new AbortController();
    const { stream } = await model.doStream({ prompt, abortSignal: second.signal });
    const reader = stream.getReader();
    for (let index = 0; index < 4; index++) await reader.read();
    const reading = rejection(reader.read());
    second.abort("enough");
    expect(await reading).toBe("enough");
    shut.resolve("late");
    expect(await rejection(model.doGenerate({ prompt, abortSignal: second.signal }))).toBe("enough");
    expect(model.requests).toHaveLength(2);
  });

  test("an open gate lets it answer", async () => {
    const gate = Promise.withResolvers<void>();
    const model = scriptedModel([{ text: "at last", gate: gate.promise }]);
    const answer = model.doGenerate({ prompt });
    gate.resolve();
    expect((await answer).content).toEqual([{ type: "text", text: "at last" }]);
  });
});
