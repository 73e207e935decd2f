import type { LanguageModelV4, LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { describe, expect } from "vitest";
import type { AgentEvent } from "../../src/agent/index.ts";
import { defineTool, parsePrompt } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { verifies } from "../support/verifies.ts";
import { serve } from "./support.ts";

const spoil = defineTool<{ list: number[]; more?: string }>({
  name: "spoil",
  input: { type: "object" },
  run: (input) => {
    input.list.push(99);
    input.more = "spoilt";
    return { list: input.list };
  },
});

/** A model that answers as a scripted one does, after a change of its result. */
function changed(model: LanguageModelV4, change: (result: Record<string, unknown>) => void): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: model.provider,
    modelId: model.modelId,
    supportedUrls: {},
    doGenerate: async (options) => {
      const result = await model.doGenerate(options);
      change(result as unknown as Record<string, unknown>);
      return result;
    },
    doStream: async (options) => {
      const { stream } = await model.doStream(options);
      const parts = new TransformStream({
        transform: (part, controller) => {
          change(part);
          controller.enqueue(part);
        },
      });
      return { stream: stream.pipeThrough(parts) };
    },
  };
}

describe("what a model was sent", () => {
  verifies("A2", "is never changed afterwards, by later steps or by a tool that changes its input", async () => {
    const given: LanguageModelV4CallOptions[] = [];
    const copies: string[] = [];
    const script = scriptedModel([{ toolCalls: [{ name: "spoil", input: { list: [1] } }] }, "done"]);
    const model = changed(script, () => undefined);
    const recording: LanguageModelV4 = {
      ...model,
      doGenerate: (options) => {
        given.push(options);
        copies.push(JSON.stringify(options.prompt));
        return model.doGenerate(options);
      },
    };
    await using served = serve([], [spoil], { agent: { defaultModel: recording } });
    await served.assistant.generate("Go.", { tools: ["spoil"] });
    expect(given.map(({ prompt }) => JSON.stringify(prompt))).toEqual(copies);
    expect(copies[1]).toContain('"input":{"list":[1]}');
  });
});

describe("what a model reports beside its answer", () => {
  for (const usage of [
    {},
    undefined,
    null,
    { inputTokens: {}, outputTokens: null },
    { inputTokens: { total: Number.NaN } },
  ]) {
    for (const streams of [false, true]) {
      const way = streams ? "in a stream" : "at once";
      verifies(["A5", "A2"], `may be no usage: ${JSON.stringify(usage)} ${way}`, async () => {
        const model = changed(scriptedModel(["hello"]), (result) => {
          if ("usage" in result) result.usage = usage;
        });
        await using served = serve([], [], { agent: { defaultModel: model } });
        const answer = streams ? await served.assistant.stream("Hi.").result : await served.assistant.generate("Hi.");
        expect(await answer.text()).toBe("hello");
        expect(answer.meta?.usage).toEqual({
          inputTokens: 0,
          outputTokens: 0,
          cachedInputTokens: 0,
          reasoningTokens: 0,
        });
      });
    }
  }

  verifies("A5", "are sources: events, and in the meta of the answer, each once", async () => {
    const page = {
      type: "source",
      sourceType: "url",
      id: "s1",
      url: "https://example.com/",
      title: "Example",
    } as const;
    const file = {
      type: "source",
      sourceType: "document",
      id: "s2",
      mediaType: "application/pdf",
      title: "Plan",
    } as const;
    const look = defineTool({ name: "look", run: () => "seen" });
    await using served = serve(
      [
        { content: [page], toolCalls: [{ name: "look" }] },
        { text: "So it is.", content: [page, file] },
      ],
      [look],
    );
    const events: AgentEvent<"source">[] = [];
    const answer = await served.assistant.generate("Why?", {
      tools: ["look"],
      onEvent: (event) => {
        if (event.type === "source") events.push(event);
      },
    });
    const { type: _page, ...url } = page;
    const { type: _file, ...document } = file;
    expect(events).toMatchObject([
      { step: 0, ...url },
      { step: 1, ...document },
    ]);
    expect(answer.meta?.sources).toEqual([url, document]);
    expect(served.model.requests[1]?.prompt.at(-2)).toMatchObject({ content: [{ type: "tool-call" }] });
  });

  verifies("A5", "the event of a result has the ref of the prompt, the tool beside it, and the content", async () => {
    const look = defineTool({ name: "look", run: () => "seen" });
    const prompt = parsePrompt("---\nname: finder\ntools: [look]\n---\nFind.");
    await using served = serve([{ toolCalls: [{ name: "look" }, { name: "nosuch" }] }, "done"], [look, prompt]);
    const events: unknown[] = [];
    await served.toolkit.call(
      "finder",
      {},
      {
        onEvent: async (event) => {
          if (event.type === "toolResult")
            events.push([event.ref, event.tool, await event.content?.text(), event.status]);
        },
      },
    );
    expect(events).toEqual([
      ["builtin.finder", "builtin.look", "seen", "ok"],
      ["builtin.finder", undefined, undefined, "failed"],
    ]);
  });
});
