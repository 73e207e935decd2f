import type { LanguageModelV4ToolResultOutput } from "@ai-sdk/provider";
import { describe, expect, test } from "vitest";
import { withoutQuirks } from "../../src/agent/model/provider-quirks.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { verifies } from "../support/verifies.ts";

function outputFor(
  provider: string,
  output: LanguageModelV4ToolResultOutput,
): LanguageModelV4ToolResultOutput | undefined {
  const content = [{ type: "tool-result" as const, toolCallId: "1", toolName: "sky", output }];
  const { prompt } = withoutQuirks(scriptedModel([], { provider }), { prompt: [{ role: "tool", content }] });
  const [message] = prompt;
  const part = message?.role === "tool" ? message.content[0] : undefined;
  return part?.type === "tool-result" ? part.output : undefined;
}

describe("a result", () => {
  const text = (value: string) => ({ type: "text" as const, text: value });
  const file = {
    type: "file" as const,
    mediaType: "image/png",
    filename: "sky.png",
    data: { type: "data" as const, data: "AAAA" },
  };
  const mixed = { type: "content" as const, value: [text("a"), file, text("b")] };

  verifies("A4", "has a text at most, and before its files, for Google", () => {
    expect(outputFor("google.generative-ai", mixed)).toEqual({ type: "content", value: [text("a\n\nb"), file] });
    expect(outputFor("google.vertex.chat", { type: "content", value: [file] })).toMatchObject({
      value: [text("The result is attached."), file],
    });
    expect(outputFor("google.generative-ai", { type: "content", value: [text("a"), text("b")] })).toEqual({
      type: "text",
      value: "a\n\nb",
    });
  });

  verifies("A4", "is a text where an API takes no other, and no file becomes base64 in it", () => {
    const note = "[A file sky.png of the type image/png, which you cannot be shown in a result.]";
    for (const provider of ["openai.chat", "mistral.chat", "ollama.chat"]) {
      expect(outputFor(provider, mixed)).toEqual({ type: "text", value: `a\n\n${note}\n\nb` });
    }
  });

  test("stays as it is elsewhere", () => {
    expect(outputFor("anthropic.messages", mixed)).toEqual(mixed);
    expect(outputFor("openai.responses", mixed)).toEqual(mixed);
    expect(outputFor("openai.chat", { type: "json", value: 1 })).toEqual({ type: "json", value: 1 });
  });
});

describe("a schema for an answer", () => {
  const closed = {
    type: "object" as const,
    properties: { a: { type: "string" as const } },
    required: ["a"],
    additionalProperties: false,
  };
  const ask = (schema: typeof closed, providerOptions = {}) =>
    withoutQuirks(scriptedModel([]), { prompt: [], responseFormat: { type: "json", schema }, providerOptions });

  verifies("A3", "outside the grammar of strict mode is asked for without it", () => {
    const loose = { strictJsonSchema: false };
    const open = { ...closed, required: [] };
    expect(ask(open).providerOptions).toEqual({ openai: loose, openaiCompatible: loose });
    expect(ask(open, { openai: { strictJsonSchema: true, user: "u" } }).providerOptions).toMatchObject({
      openai: { strictJsonSchema: true, user: "u" },
    });
    expect(ask(closed).providerOptions).toEqual({});
  });
});
