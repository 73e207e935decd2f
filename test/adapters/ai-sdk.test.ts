import { generateText, isStepCount } from "ai";
import { afterEach, beforeEach, describe, expect } from "vitest";
import { toAiSdk } from "../../src/adapters/ai-sdk.ts";
import { defineTool } from "../../src/core/tool.ts";
import type { Toolkit } from "../../src/toolkit/toolkit.ts";
import { rejection } from "../support/failure.ts";
import { verifies } from "../support/verifies.ts";
import { scriptedModel, toolCall } from "./scripted-model.ts";
import { adapterToolkit, png } from "./toolkit.ts";

describe("the AI SDK", () => {
  let toolkit: Toolkit;
  beforeEach(() => {
    toolkit = adapterToolkit();
  });
  afterEach(() => toolkit.close());

  const stopWhen = isStepCount(5);
  const prompt = "Go on.";

  verifies("T6", "generateText calls tools, and its model hears of every outcome", async () => {
    const toolset = await toolkit.toolset({ policy: { block: ["builtin.search"] } });
    const { tools, prepareStep, run } = toAiSdk(toolset);
    const model = scriptedModel([
      toolCall("1", "forecast", { city: "Bern", days: "2" }),
      toolCall("2", "fail", {}),
      toolCall("3", "picture", {}),
      toolCall("4", "search", { query: "x" }),
      toolCall("5", "nothing", {}),
    ]);
    const { text, steps } = await generateText({ model, prompt, tools, prepareStep, stopWhen });
    expect(text).toBe("Done.");
    expect(steps[0]?.content.filter(({ type }) => type === "tool-error")).toHaveLength(1);
    const [, told] = model.doGenerateCalls;
    const results = told?.prompt.flatMap((message) => (message.role === "tool" ? message.content : [])) ?? [];
    const outputs = results.map((part) => (part.type === "tool-result" ? [part.toolCallId, part.output] : []));
    expect(outputs).toEqual([
      ["1", { type: "json", value: { asked: { city: "Bern", days: 2 }, sun: true } }],
      ["2", { type: "error-text", value: expect.stringContaining("out of ink") }],
      [
        "3",
        {
          type: "content",
          value: [
            { type: "text", text: "A dot:" },
            expect.objectContaining({ type: "file", mediaType: "image/png", data: { type: "data", data: png } }),
            expect.objectContaining({ type: "file", mediaType: "application/x-sound" }),
          ],
        },
      ],
      ["4", { type: "execution-denied", reason: expect.stringContaining("not allowed") }],
      ["5", { type: "text", value: "Done. It has no result." }],
    ]);
    expect((run as { history?: unknown[] }).history).toHaveLength(1);
  });

  verifies("T6", "models get the schema as it is projected, with open objects left open", async () => {
    const { tools } = toAiSdk(await toolkit.toolset({ include: ["search"] }));
    const model = scriptedModel();
    await generateText({ model, prompt, tools });
    const [tool] = model.doGenerateCalls[0]?.tools ?? [];
    expect(tool).toMatchObject({ type: "function", name: "search", inputSchema: { type: "object" } });
    const { inputSchema } = tool as { inputSchema: object };
    expect(inputSchema).not.toHaveProperty("anyOf");
    expect(inputSchema).not.toHaveProperty("additionalProperties");
  });

  verifies(["T6", "T2"], "each step has the tools and the tool choice of its turn", async () => {
    const toolset = await toolkit.toolset({ forced: ["forecast", "nothing"] });
    const { tools, prepareStep } = toAiSdk(toolset, toolset.begin());
    const model = scriptedModel([toolCall("1", "nothing", {})]);
    await generateText({ model, prompt, tools, prepareStep, stopWhen });
    expect(model.doGenerateCalls.map((call) => [call.tools?.map(({ name }) => name), call.toolChoice])).toEqual([
      [["forecast", "nothing"], { type: "required" }],
      [["fail", "forecast", "nothing", "picture", "search"], { type: "auto" }],
    ]);
  });

  verifies(
    ["T6", "T3", "T4"],
    "the calls of one step are one turn: identical ones run once, and who takes control is alone",
    async () => {
      let ran = 0;
      toolkit.add(defineTool({ name: "count", run: () => ({ ran: ++ran }) }));
      toolkit.add(defineTool({ name: "finish", options: { takesControl: true }, run: () => "final" }));
      const toolset = await toolkit.toolset();
      const run = toolset.begin();
      const { tools } = toAiSdk(toolset, run);
      const model = scriptedModel(
        [toolCall("1", "count", {}), toolCall("2", "count", {})],
        [toolCall("3", "count", {}), toolCall("4", "finish", {})],
        [toolCall("5", "finish", {})],
      );
      await generateText({ model, prompt, tools, stopWhen });
      expect(ran).toBe(1);
      expect(run.history.map(({ answers }) => answers.map(({ status }) => status))).toEqual([
        ["ok", "ok"],
        ["denied", "denied"],
        ["ok"],
      ]);
      expect(await run.final?.text()).toBe("final");
    },
  );

  verifies("T6", "an abort of generateText ends its wait", async () => {
    const controller = new AbortController();
    const begun = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    toolkit.add(
      defineTool({
        name: "wait",
        run: (_input, { signal }) => {
          begun.resolve();
          return new Promise((_resolve, reject) =>
            signal.addEventListener("abort", () => {
              ended.resolve();
              reject(signal.reason);
            }),
          );
        },
      }),
    );
    const { signal } = controller;
    const toolset = await toolkit.toolset();
    const { tools } = toAiSdk(toolset, toolset.begin({ signal }));
    const model = scriptedModel([toolCall("1", "wait", {})]);
    const running = rejection(generateText({ model, prompt, tools, stopWhen, abortSignal: signal, maxRetries: 0 }));
    await begun.promise;
    controller.abort(new Error("enough"));
    await ended.promise;
    expect(String(await running)).toContain("enough");
  });

  verifies("T6", "those who call the tools themselves get calls and give results", async () => {
    const toolset = await toolkit.toolset();
    const run = toolset.begin();
    const sdk = toAiSdk(toolset, run);
    const given = {
      toolCalls: [{ type: "tool-call", toolCallId: "1", toolName: "forecast", input: { city: "Bern" } }],
    };
    const calls = sdk.calls(given);
    expect(calls).toEqual([{ id: "1", name: "forecast", input: { city: "Bern" } }]);
    expect(sdk.calls(given.toolCalls)).toEqual(calls);
    const other = { id: "2", name: "fail", input: {} };
    expect(await sdk.results(await run.execute([...calls, other]))).toEqual({
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "1",
          toolName: "forecast",
          output: { type: "json", value: { asked: { city: "Bern" }, sun: true } },
        },
        {
          type: "tool-result",
          toolCallId: "2",
          toolName: "fail",
          output: { type: "error-text", value: expect.stringContaining("out of ink") },
        },
      ],
    });
  });
});
