import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { type AnswerHead, formError } from "../wire/answer-errors.ts";
import { answerLimits } from "../wire/answer-reader.ts";
import { type AnswerOptions, WireModel, type WireRequest, type WireServerOptions } from "../wire/wire-model.ts";
import { ChatChunks } from "./chat-chunks.ts";
import { chatRequest, limitFieldOf } from "./chat-request.ts";

/**
 * A model of a server of Chat Completions, such as OpenAI, Ollama, vLLM, LM Studio or OpenRouter.
 *
 * @see https://platform.openai.com/docs/api-reference/chat
 */
export class ChatModel extends WireModel {
  readonly #name: string;

  /** @param limits - of each answer; lower in tests */
  constructor(modelId: string, server: WireServerOptions, limits = answerLimits) {
    const { name, apiKey } = server;
    const headers: Readonly<Record<string, string>> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    super(modelId, server, { provider: `${name}.chat`, path: "/chat/completions", headers }, limits);
    this.#name = name;
  }

  protected override requestOf(options: LanguageModelV4CallOptions, stream: boolean): WireRequest {
    const { modelId, url } = this;
    return chatRequest(options, { modelId, provider: this.#name, limitField: limitFieldOf(url) }, stream);
  }

  protected override answerOf({ warnings }: WireRequest, head: AnswerHead, options: AnswerOptions): ChatChunks {
    const beyond = (what: string) => formError(head, `the answer has ${what}`);
    const limits = { ...options.limits, beyond };
    return new ChatChunks(head, { ...options, provider: this.#name, warnings, limits });
  }
}
