import type { LanguageModelV4Message, LanguageModelV4Prompt } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import { assertOptionNames, invalidOption } from "../../core/options.ts";
import { bytesPerToken } from "../../toolset/tokens.ts";
import { faultOf } from "./conversation-messages.ts";

/** The options that a hook for the history of a conversation gets beside its messages. */
export interface HistoryContext {
  /** `provider/name` of the model that is asked. */
  readonly model: string;
  /** Of the run, from 0. */
  readonly step: number;
  /** The index of the first message of this run; those before it are of earlier ones. */
  readonly current: number;
  readonly signal: AbortSignal;
}

/**
 * Chooses what of a conversation a model is sent. It is asked before each step with all messages but the system prompt, and changes
 * nothing of what is kept. A result without its call, and a call without its result, are refused.
 */
export type HistoryHook = (
  messages: LanguageModelV4Prompt,
  context: HistoryContext,
) => LanguageModelV4Prompt | PromiseLike<LanguageModelV4Prompt>;

/** Options of `recentHistory`. */
export interface RecentHistoryOptions {
  /** The budget for the messages, in tokens as `tokensOf` counts them. The system prompt and the definitions of tools are beside it. */
  readonly maxTokens: number;
  /** Counts the tokens of a message. Default: one for each four bytes of its JSON, and 1,000 for each file. */
  readonly tokensOf?: ((message: LanguageModelV4Message) => number) | undefined;
}

const tokensOfFile = 1_000;

/**
 * A hook that keeps the last messages within a number of tokens. It drops whole exchanges, the oldest first: a question with its answer,
 * calls and results. Of the current run it drops the oldest calls with their results where it must, and never its question or its last turn:
 * these are sent even where they exceed the budget.
 *
 * @throws ToolkitError `INVALID_CONFIG`
 *
 * @example
 * ```ts
 * const assistant = agent({ defaultModel: model, history: recentHistory({ maxTokens: 50_000 }) });
 * ```
 */
export function recentHistory({ maxTokens, tokensOf = estimatedTokens, ...others }: RecentHistoryOptions): HistoryHook {
  assertOptionNames<RecentHistoryOptions>(others, { maxTokens: true, tokensOf: true }, "of recentHistory");
  if (!(typeof maxTokens === "number" && maxTokens > 0))
    throw invalidOption("maxTokens", "a number above 0", maxTokens);
  return (messages, { current }) => {
    const counts = messages.map(tokensOf);
    let total = counts.reduce((sum, count) => sum + count, 0);
    const isKept = messages.map(() => true);
    const drop = (from: number, to: number) => {
      for (let index = from; index < to; index += 1) {
        total -= counts[index] ?? 0;
        isKept[index] = false;
      }
    };
    for (const [from, to] of exchangesIn(messages, current)) {
      if (total <= maxTokens) break;
      drop(from, to);
    }
    const turns = turnsIn(messages, current);
    for (const [from, to] of turns.slice(0, -1)) {
      if (total <= maxTokens) break;
      drop(from, to);
    }
    return messages.filter((_, index) => isKept[index]);
  };
}

type Range = readonly [from: number, to: number];

/** The exchanges before the current run: each begins where a user speaks after a model. */
function exchangesIn(messages: LanguageModelV4Prompt, end: number): readonly Range[] {
  return rangesOf(end, 0, (index) => messages[index]?.role === "user" && messages[index - 1]?.role !== "user");
}

/** The turns of the model in the current run: each begins with what it says. What follows, such as results, belongs to it. */
function turnsIn(messages: LanguageModelV4Prompt, current: number): readonly Range[] {
  const isSaid = (index: number) => messages[index]?.role === "assistant";
  // A prompt may render to messages of an assistant too, up to its last one of a user: its question.
  let first = current;
  while (first < messages.length && messages[first]?.role !== "user") first += 1;
  while (first < messages.length && !isSaid(first)) first += 1;
  return rangesOf(messages.length, first, isSaid);
}

function rangesOf(end: number, first: number, begins: (index: number) => boolean): readonly Range[] {
  const ranges: Range[] = [];
  for (let from = first; from < end; ) {
    let to = from + 1;
    while (to < end && !begins(to)) to += 1;
    ranges.push([from, to]);
    from = to;
  }
  return ranges;
}

function estimatedTokens({ content }: LanguageModelV4Message): number {
  if (typeof content === "string") return Math.ceil(Buffer.byteLength(content) / bytesPerToken);
  return content.reduce((sum, part) => sum + tokensOfPart(part), 0);
}

function tokensOfPart(part: { readonly type: string }): number {
  if (part.type === "file") return tokensOfFile;
  const text = JSON.stringify(part, (_key, value: unknown) => (isFileData(value) ? "" : value));
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}

/** Files in results are their base64. */
function isFileData(value: unknown): boolean {
  return typeof value === "object" && value !== null && "type" in value && value.type === "data";
}

/** @throws ToolkitError `INVALID_CONFIG` for a hook that gives what no model can be sent */
export async function chosenHistory(
  hook: HistoryHook,
  messages: LanguageModelV4Prompt,
  context: HistoryContext,
): Promise<LanguageModelV4Prompt> {
  const chosen: unknown = await hook(Object.freeze([...messages]) as LanguageModelV4Prompt, context);
  const fault = Array.isArray(chosen) && chosen.length === 0 ? "is empty" : faultOf(chosen);
  if (fault === undefined) return chosen as LanguageModelV4Prompt;
  const message = `The option history of an agent gave what cannot be sent: it ${fault}. Keep each call with its result.`;
  throw new ToolkitError("INVALID_CONFIG", message, { path: "history" });
}
