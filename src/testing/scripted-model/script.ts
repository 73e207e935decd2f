import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  SharedV4ProviderMetadata,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import type { Awaitable } from "../../lib/promise.ts";

/** What a model was asked, as plain values that nothing changes later. */
export interface ModelRequest extends Omit<LanguageModelV4CallOptions, "abortSignal"> {
  /** Whether it was asked for a stream. */
  readonly stream: boolean;
}

/** A text, or the pieces it is streamed in; what the pieces throw breaks the stream. */
export type ScriptedText = string | Iterable<string> | AsyncIterable<string>;

/** A call a scripted model makes. */
export interface ScriptedToolCall {
  /** As the model was told it: an alias. */
  readonly name: string;
  /** A JSON value; a text is taken as it is, so that it may be no JSON at all. Default `{}`. */
  readonly input?: unknown;
  /** Default: `call-1`, `call-2` and so on, through all answers of the model. */
  readonly id?: string | undefined;
  readonly providerMetadata?: SharedV4ProviderMetadata | undefined;
}

/** What a model thought. */
export interface ScriptedReasoning {
  readonly text: ScriptedText;
  /** Such as the signature that the provider wants back. */
  readonly providerMetadata?: SharedV4ProviderMetadata | undefined;
}

/** Tokens, as a scripted model counts them. */
export interface ScriptedUsage {
  /** Default 10. */
  readonly inputTokens?: number | undefined;
  /** How many of them came from a cache. Default 0. */
  readonly cachedTokens?: number | undefined;
  /** Default 5. */
  readonly outputTokens?: number | undefined;
  /** How many of them were thoughts. Default 0. */
  readonly reasoningTokens?: number | undefined;
}

/** A failure as an HTTP API would answer it. */
export interface ScriptedFailure {
  /** The HTTP status. */
  readonly status: number;
  readonly message?: string | undefined;
  /** Of the response, such as `{ "retry-after": "2" }`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The unified reason, or with the raw one of a provider. */
export type ScriptedFinish = LanguageModelV4FinishReason["unified"] | LanguageModelV4FinishReason;

/** One answer of a scripted model. It says what it thinks, then its text, then its calls, then the rest. */
export interface ScriptedStep {
  readonly reasoning?: ScriptedText | ScriptedReasoning | undefined;
  readonly text?: ScriptedText | undefined;
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  /** Files, sources and whatever else a model may give. */
  readonly content?: readonly Exclude<LanguageModelV4Content, { type: "text" | "reasoning" }>[] | undefined;
  /** Default: `tool-calls` where there are such, else `stop`. */
  readonly finishReason?: ScriptedFinish | undefined;
  readonly usage?: ScriptedUsage | undefined;
  readonly providerMetadata?: SharedV4ProviderMetadata | undefined;
  readonly warnings?: readonly SharedV4Warning[] | undefined;
  /**
   * What it fails with: at once, where the step says nothing else, else after that, as a part of the stream. Anything may be thrown; an
   * object with a `status` becomes the error an HTTP provider would throw.
   */
  readonly error?: unknown;
  /** The stream ends without a finish, as where a connection is lost. Without a stream the finish reason is `interrupted`. */
  readonly isCut?: boolean | undefined;
  /** It answers when this has resolved. */
  readonly gate?: PromiseLike<unknown> | undefined;
}

/** An answer from what was asked. `index` counts the requests, from 0. */
export type ScriptFunction = (request: ModelRequest, index: number) => Awaitable<ScriptedStep | string>;

/** What a scripted model answers: a step for each request, in their order, or a function. A text is a step that says it. */
export type Script = readonly (ScriptedStep | string)[] | ScriptFunction;

/** A step, checked. */
export function readStep(given: unknown, path: string): ScriptedStep {
  if (typeof given === "string") return { text: given };
  assertOptionNames<ScriptedStep>(given, stepNames, "of a step", path);
  const { toolCalls = [] } = given as ScriptedStep;
  if (!Array.isArray(toolCalls)) throw invalidOption(`${path}.toolCalls`, "a list", toolCalls);
  for (const [index, call] of toolCalls.entries()) {
    const place = `${path}.toolCalls[${index}]`;
    assertOptionNames<ScriptedToolCall>(call, callNames, "of a tool call", place);
    if (typeof call.name !== "string") throw invalidOption(`${place}.name`, "the name of a tool", call.name);
  }
  return given as ScriptedStep;
}

const stepNames: OptionNames<ScriptedStep> = {
  reasoning: true,
  text: true,
  toolCalls: true,
  content: true,
  finishReason: true,
  usage: true,
  providerMetadata: true,
  warnings: true,
  error: true,
  isCut: true,
  gate: true,
};
const callNames: OptionNames<ScriptedToolCall> = { name: true, input: true, id: true, providerMetadata: true };
