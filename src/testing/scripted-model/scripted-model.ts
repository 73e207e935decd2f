import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from "@ai-sdk/provider";
import { assertOptionNames, invalidOption, type OptionNames } from "../../core/options.ts";
import { abortable } from "../../lib/promise.ts";
import { present } from "../../lib/value.ts";
import { type ModelRequest, readStep, recordRequest, type Script, type ScriptedStep } from "./script.ts";
import { type AnswerOptions, partsOf, throwEarly } from "./scripted-answer.ts";

/** Options of a scripted model. */
export interface ScriptedModelOptions {
  /** Default `scripted`. Under the name of a real provider, such as `anthropic.messages`, it gets the requests of that one. */
  readonly provider?: string | undefined;
  /** Default `model`. */
  readonly modelId?: string | undefined;
  /** Characters of a streamed piece. Default 16. */
  readonly chunkLength?: number | undefined;
  /** The URLs it reads itself, by media type. Default: none. */
  readonly supportedUrls?: Record<string, RegExp[]> | undefined;
}

/** A language model with the answers of a script. */
export interface ScriptedModel extends LanguageModelV4 {
  /** Its requests so far, oldest first, failed ones included. */
  readonly requests: readonly ModelRequest[];
  /** The number of unused steps; undefined where a function answers. */
  readonly stepsLeft: number | undefined;
}

/**
 * Makes a language model for tests: it answers each request with the next step of a script, streamed or not, and records the requests. It
 * takes no time and no network. A request after the last step fails.
 *
 * @throws ToolkitError `INVALID_CONFIG` for an invalid script or option
 * @example
 * ```ts
 * const model = scriptedModel([{ toolCalls: [{ name: "forecast", input: { city: "Bern" } }] }, "It is sunny."]);
 * const toolkit = new Toolkit({ items: [forecast], delegate: agent({ defaultModel: model }) });
 * // ... call a prompt, then look at what the model got:
 * expect(model.requests[1]?.prompt.at(-1)?.role).toBe("tool");
 * ```
 */
export function scriptedModel(script: Script, options: ScriptedModelOptions = {}): ScriptedModel {
  return new Model(script, options);
}

const optionNames: OptionNames<ScriptedModelOptions> = {
  provider: true,
  modelId: true,
  chunkLength: true,
  supportedUrls: true,
};

class Model implements ScriptedModel {
  readonly specificationVersion = "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  readonly requests: ModelRequest[] = [];
  readonly #script: Script;
  readonly #chunkLength: number;
  #calls = 0;

  constructor(script: Script, options: ScriptedModelOptions) {
    assertOptionNames(options, optionNames, "of a scripted model");
    const { provider = "scripted", modelId = "model", chunkLength = 16, supportedUrls = {} } = options;
    if (!(Number.isInteger(chunkLength) && chunkLength > 0))
      throw invalidOption("chunkLength", "a whole number from 1", chunkLength);
    if (typeof script !== "function" && !Array.isArray(script))
      throw invalidOption("script", "a list of steps, or a function", script);
    this.#script =
      typeof script === "function" ? script : script.map((step, index) => readStep(step, `script[${index}]`));
    this.provider = provider;
    this.modelId = modelId;
    this.supportedUrls = supportedUrls;
    this.#chunkLength = chunkLength;
  }

  get stepsLeft(): number | undefined {
    return typeof this.#script === "function" ? undefined : Math.max(0, this.#script.length - this.requests.length);
  }

  async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    return gather(await this.#answer(options, false));
  }

  async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    return { stream: ReadableStream.from(await this.#answer(options, true)) };
  }

  async #answer(
    options: LanguageModelV4CallOptions,
    isStream: boolean,
  ): Promise<AsyncGenerator<LanguageModelV4StreamPart>> {
    const { abortSignal: signal } = options;
    signal?.throwIfAborted();
    const request = recordRequest(options, isStream);
    const index = this.requests.push(request) - 1;
    const step = await abortable(this.#step(request, index), signal);
    if (step.gate !== undefined) await abortable(step.gate, signal);
    throwEarly(step);
    return partsOf(step, this.#options(signal));
  }

  async #step(request: ModelRequest, index: number): Promise<ScriptedStep> {
    if (typeof this.#script === "function") return readStep(await this.#script(request, index), `script(${index})`);
    const step = this.#script[index];
    if (step !== undefined) return readStep(step, `script[${index}]`);
    const count = this.#script.length === 1 ? "1 step" : `${this.#script.length} steps`;
    const last = JSON.stringify(request.prompt.at(-1))?.slice(0, 300);
    throw new Error(
      `The script of the model ${this.modelId} has ${count}, and there is one request more: add a step. The last message is ${last}.`,
    );
  }

  #options(signal: AbortSignal | undefined): AnswerOptions {
    return {
      modelId: this.modelId,
      chunkLength: this.#chunkLength,
      signal,
      nextId: () => `call-${++this.#calls}`,
    };
  }
}

/** The result that the parts of a stream make. */
async function gather(parts: AsyncIterable<LanguageModelV4StreamPart>): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = [];
  const result: LanguageModelV4GenerateResult = {
    content,
    finishReason: { unified: "interrupted", raw: undefined },
    usage: {
      inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: undefined, text: undefined, reasoning: undefined },
    },
    warnings: [],
  };
  let text = "";
  for await (const part of parts) {
    if (part.type === "error") throw part.error;
    if (part.type === "stream-start") result.warnings = part.warnings;
    else if (part.type === "text-start" || part.type === "reasoning-start") text = "";
    else if (part.type === "text-delta" || part.type === "reasoning-delta") text += part.delta;
    else if (part.type === "text-end" || part.type === "reasoning-end") {
      const type = part.type === "text-end" ? "text" : "reasoning";
      content.push({ type, text, ...present({ providerMetadata: part.providerMetadata }) });
    } else if (part.type === "response-metadata") result.response = present({ modelId: part.modelId });
    else if (part.type === "finish") {
      const { type: _, ...finish } = part;
      Object.assign(result, finish);
    } else if (isContent(part)) content.push(part);
  }
  return result;
}

/** True for a part with the same form in a result. */
function isContent(
  part: LanguageModelV4StreamPart,
): part is Extract<LanguageModelV4StreamPart, LanguageModelV4Content> {
  return !["tool-input-start", "tool-input-delta", "tool-input-end", "ping", "raw"].includes(part.type);
}
