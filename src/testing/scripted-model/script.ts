import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  SharedV4ProviderMetadata,
  SharedV4Warning,
} from "@ai-sdk/provider";
import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import type { Awaitable } from "../../lib/promise.ts";
import { isRecord, present } from "../../lib/value.ts";

/** A request to a model, as a deep copy. */
export interface ModelRequest extends Omit<LanguageModelV4CallOptions, "abortSignal"> {
  /** Whether it asks for a stream. */
  readonly stream: boolean;
}

/** A text, or the pieces in which it is streamed; an error of the iterable breaks the stream. */
export type ScriptedText = string | Iterable<string> | AsyncIterable<string>;

/** A call of a scripted model. */
export interface ScriptedToolCall {
  /** The alias of the tool. */
  readonly name: string;
  /** A JSON value; a text is sent unchanged, so it may be invalid JSON. Default `{}`. */
  readonly input?: unknown;
  /** Default: `call-1`, `call-2` and so on, through all answers of the model. */
  readonly id?: string | undefined;
  readonly providerMetadata?: SharedV4ProviderMetadata | undefined;
}

/** The reasoning of a model. */
export interface ScriptedReasoning {
  readonly text: ScriptedText;
  /** Such as a signature that the provider wants back. */
  readonly providerMetadata?: SharedV4ProviderMetadata | undefined;
}

/** The tokens that a scripted model reports. */
export interface ScriptedUsage {
  /** Default 10. */
  readonly inputTokens?: number | undefined;
  /** Input tokens from a cache. Default 0. */
  readonly cachedTokens?: number | undefined;
  /** Default 5. */
  readonly outputTokens?: number | undefined;
  /** Output tokens of reasoning. Default 0. */
  readonly reasoningTokens?: number | undefined;
}

/** An error response of an HTTP API. */
export interface ScriptedFailure {
  /** The HTTP status. */
  readonly status: number;
  readonly message?: string | undefined;
  /** Of the response, such as `{ "retry-after": "2" }`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The unified reason, or both it and the raw one of a provider. */
export type ScriptedFinish = LanguageModelV4FinishReason["unified"] | LanguageModelV4FinishReason;

/** One answer of a scripted model: reasoning, text, calls and further content, in this order. */
export interface ScriptedStep {
  readonly reasoning?: ScriptedText | ScriptedReasoning | undefined;
  readonly text?: ScriptedText | undefined;
  readonly toolCalls?: readonly ScriptedToolCall[] | undefined;
  /** Files, sources and other parts. */
  readonly content?: readonly Exclude<LanguageModelV4Content, { type: "text" | "reasoning" }>[] | undefined;
  /** Default: `tool-calls` where there are such, else `stop`. */
  readonly finishReason?: ScriptedFinish | undefined;
  readonly usage?: ScriptedUsage | undefined;
  readonly providerMetadata?: SharedV4ProviderMetadata | undefined;
  readonly warnings?: readonly SharedV4Warning[] | undefined;
  /**
   * The error of the step: thrown at once where the step has no content, else sent after it, as a part of the stream. An object with a
   * `status` becomes the error of an HTTP provider; any other value is thrown unchanged.
   */
  readonly error?: unknown;
  /** The stream ends without a finish, as with a lost connection. Without a stream the finish reason is `interrupted`. */
  readonly isCut?: boolean | undefined;
  /** The answer waits until this resolves. */
  readonly gate?: PromiseLike<unknown> | undefined;
}

/** Answers a request. `index` counts the requests, from 0. */
export type ScriptFunction = (request: ModelRequest, index: number) => Awaitable<ScriptedStep | string>;

/** The answers of a scripted model: a step for each request, in order, or a function. A text is a step with that text. */
export type Script = readonly (ScriptedStep | string)[] | ScriptFunction;

/** @throws ToolkitError `INVALID_CONFIG` for an invalid step */
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

/** A deep copy of the options of a request: the caller may change them later. */
export function recordRequest(options: LanguageModelV4CallOptions, stream: boolean): ModelRequest {
  const { abortSignal: _, ...asked } = options;
  return { ...(copied(present(asked)) as LanguageModelV4CallOptions), stream };
}

function copied(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copied);
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (value instanceof URL) return new URL(value);
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, copied(each)]));
}
