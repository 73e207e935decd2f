import {
  dynamicTool,
  generateText,
  jsonSchema,
  type ModelMessage,
  type PrepareStepFunction,
  type ToolChoice,
  type ToolSet,
} from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { expectTypeOf, test } from "vitest";
import { type OpenAICallOutput, type OpenAIChatTool, toAiSdk, toOpenAI } from "../../src/adapters/index.ts";
import type { Toolset } from "../../src/index.ts";

declare const toolset: Toolset;

test("[T6] what toAiSdk gives is a ToolSet, a tool choice, messages and a prepareStep of the AI SDK", () => {
  const { tools, toolChoice, prepareStep, results } = toAiSdk(toolset, toolset.begin());
  expectTypeOf(tools).toExtend<ToolSet>();
  expectTypeOf(toolChoice).toExtend<ToolChoice<ToolSet> | undefined>();
  expectTypeOf(results([])).resolves.toExtend<ModelMessage>();
  expectTypeOf(prepareStep).toExtend<PrepareStepFunction<ToolSet>>();
  void (() => generateText({ model: new MockLanguageModelV4(), prompt: "", tools, prepareStep }));
  const own = dynamicTool({ description: "", inputSchema: jsonSchema({ type: "object" }), execute: async () => 1 });
  expectTypeOf({ ...tools, own }).toExtend<ToolSet>();
});

test("[T6] the API decides the form", () => {
  expectTypeOf(toOpenAI(toolset, { api: "chat" }).tools).toEqualTypeOf<OpenAIChatTool[] | undefined>();
  expectTypeOf(toOpenAI(toolset, { api: "responses" }).results([])).resolves.toEqualTypeOf<OpenAICallOutput[]>();
  // @ts-expect-error no such API
  toOpenAI(toolset, { api: "completions" });
  // @ts-expect-error an API is wanted
  toOpenAI(toolset, {});
});
