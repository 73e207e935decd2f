import { expect, test } from "vitest";
import { agent } from "../../src/agent/index.ts";
import { defineTool } from "../../src/core/tool.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { Toolkit } from "../../src/toolkit/toolkit.ts";
import { failure } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";

const asks = defineTool({
  name: "asks",
  run: async (_input, context) =>
    context.sample({
      messages: [
        { role: "user", content: { type: "text", text: "Color?" } },
        { role: "assistant", content: [{ type: "text", text: "Which?" }] },
        { role: "user", content: { type: "image", data: "aGk=", mimeType: "image/png" } },
      ],
      maxTokens: 50,
      systemPrompt: "Be short.",
      temperature: 0,
      stopSequences: ["."],
      modelPreferences: { hints: [{ name: "nobody/knows" }, { name: "wished" }] },
    }),
});

verifies(
  "M10",
  "an agent answers whoever asks for a model, where it is told to: the first hint that is known chooses",
  async () => {
    const wished = scriptedModel([{ text: "Red", finishReason: "length" }], { modelId: "wished" });
    const delegate = agent({ models: { "acme/wished": wished }, defaultModel: scriptedModel([]), sampling: true });
    await using toolkit = new Toolkit({ items: [asks], delegate });
    expect(await (await toolkit.call("asks")).json()).toEqual({
      role: "assistant",
      content: { type: "text", text: "Red" },
      model: "acme/wished",
      stopReason: "maxTokens",
    });
    expect(wished.requests[0]).toMatchObject({
      prompt: [
        { role: "system", content: "Be short." },
        { role: "user", content: [{ type: "text", text: "Color?" }] },
        { role: "assistant", content: [{ type: "text", text: "Which?" }] },
        { role: "user", content: [{ type: "file", mediaType: "image/png", data: { type: "data", data: "aGk=" } }] },
      ],
      maxOutputTokens: 50,
      temperature: 0,
      stopSequences: ["."],
    });
  },
);

test("an agent leaves it to others unless it is told to: strangers would spend tokens", async () => {
  const model = scriptedModel(["Red"]);
  await using toolkit = new Toolkit({ items: [asks], delegate: agent({ defaultModel: model }) });
  expect(await failure(toolkit.call("asks"))).toMatchObject({ code: "NO_DELEGATE" });
  expect(model.requests).toEqual([]);
});
