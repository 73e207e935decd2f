import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from "@ai-sdk/provider";
import { isRecord } from "../../../lib/value.ts";
import { countIn, type Fields, textIn } from "../wire/wire-fields.ts";

/** `answer`: the tool of a structured answer. `held`: a text beside that tool. `other`: of no meaning here. */
export type BlockKind = "text" | "reasoning" | "call" | "answer" | "held" | "other";

/**
 * The kind of a block of an answer.
 *
 * @param answerTool - the tool whose arguments are the text of the answer
 */
export function blockKind({ type, name }: Fields, answerTool: string | undefined): BlockKind {
  if (type === "thinking" || type === "redacted_thinking") return "reasoning";
  if (type === "text") return answerTool === undefined ? "text" : "held";
  if (type !== "tool_use" || textIn(name).trim() === "") return "other";
  return name === answerTool ? "answer" : "call";
}

/** The reason why an answer ended. The tool of a structured answer is none of the run. */
export function stopReasonOf(raw: string | undefined, hasCalls: boolean): LanguageModelV4FinishReason {
  return { unified: unifiedReason(raw, hasCalls), raw };
}

function unifiedReason(raw: string | undefined, hasCalls: boolean): LanguageModelV4FinishReason["unified"] {
  switch (raw) {
    case "end_turn":
    case "stop_sequence":
    case "pause_turn":
      return "stop";
    case "tool_use":
      return hasCalls ? "tool-calls" : "stop";
    case "max_tokens":
    case "model_context_window_exceeded":
      return "length";
    case "refusal":
      return "content-filter";
    default:
      return "other";
  }
}

/** Counts of tokens, by the names of the API. */
type TokenCounts = Record<string, number>;

const counted: ReadonlySet<string> = new Set([
  "input_tokens",
  "output_tokens",
  "cache_creation_input_tokens",
  "cache_read_input_tokens",
]);

/** Adds the counts of an event. They replace earlier ones: each is that of the answer so far. */
export function addUsage(counts: TokenCounts, usage: unknown): void {
  if (!isRecord(usage)) return;
  for (const [name, value] of Object.entries(usage)) {
    const count = countIn(value);
    if (count !== undefined && counted.has(name)) counts[name] = count;
  }
  const details = isRecord(usage.output_tokens_details) ? usage.output_tokens_details : {};
  const thoughts = countIn(details.thinking_tokens);
  if (thoughts !== undefined) counts.thinking_tokens = thoughts;
}

/** The tokens of an answer. Those from and to the cache are apart from the input on the wire. */
export function messagesUsage(counts: Readonly<TokenCounts>): LanguageModelV4Usage {
  if (Object.keys(counts).length === 0) {
    return {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    };
  }
  const { input_tokens: noCache = 0, output_tokens: total = 0, thinking_tokens: reasoning } = counts;
  const { cache_read_input_tokens: cacheRead = 0, cache_creation_input_tokens: cacheWrite = 0 } = counts;
  const text = reasoning === undefined ? undefined : Math.max(0, total - reasoning);
  return {
    inputTokens: { total: noCache + cacheRead + cacheWrite, noCache, cacheRead, cacheWrite },
    outputTokens: { total, text, reasoning },
    raw: { ...counts },
  };
}
