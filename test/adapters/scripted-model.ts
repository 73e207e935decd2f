import { MockLanguageModelV4 } from "ai/test";

type Result = Awaited<ReturnType<MockLanguageModelV4["doGenerate"]>>;

/** A call as a model of the AI SDK makes it. */
export const toolCall = (toolCallId: string, toolName: string, input: unknown) => ({
  type: "tool-call" as const,
  toolCallId,
  toolName,
  input: JSON.stringify(input),
});

/** A model of the AI SDK that makes these calls, turn by turn, and says "Done." then. */
export function scriptedModel(...turns: readonly ReturnType<typeof toolCall>[][]): MockLanguageModelV4 {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const results = turns.map(
    (content): Result => ({
      content,
      finishReason: { unified: "tool-calls", raw: undefined },
      usage,
      warnings: [],
    }),
  );
  const last: Result = {
    content: [{ type: "text", text: "Done." }],
    finishReason: { unified: "stop", raw: undefined },
    usage,
    warnings: [],
  };
  return new MockLanguageModelV4({ doGenerate: [...results, last] });
}
