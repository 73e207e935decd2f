import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { ChatChunks } from "./chat/chat-chunks.ts";
import { chatRequest, limitFieldOf } from "./chat/chat-request.ts";
import { MessagesEvents } from "./messages/messages-events.ts";
import { type MessagesRequest, messagesRequest } from "./messages/messages-request.ts";
import { type AnswerHead, formError } from "./wire/answer-errors.ts";
import { answerLimits } from "./wire/answer-reader.ts";
import { type WireAnswerOptions, WireModel, type WireRequest, type WireServerOptions } from "./wire/wire-model.ts";

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

  protected override answerOf({ warnings }: WireRequest, head: AnswerHead, options: WireAnswerOptions): ChatChunks {
    const beyond = (what: string) => formError(head, `the answer has ${what}`);
    const limits = { ...options.limits, beyond };
    return new ChatChunks(head, { ...options, provider: this.#name, warnings, limits });
  }
}

/** The version of Messages. */
const version = "2023-06-01";

/**
 * A model of Anthropic, or of a server that speaks its Messages.
 *
 * @see https://docs.claude.com/en/api/messages
 */
export class MessagesModel extends WireModel<MessagesRequest> {
  /** Servers fetch them themselves. */
  override readonly supportedUrls = { "image/*": [/^https?:/], "application/pdf": [/^https?:/] };

  /** @param limits - of each answer; lower in tests */
  constructor(modelId: string, server: WireServerOptions, limits = answerLimits) {
    const { name, apiKey } = server;
    const key = apiKey === undefined ? {} : { "x-api-key": apiKey };
    // Options are chosen by the API, which servers of other names share.
    const provider = name === "anthropic" ? "anthropic.messages" : `${name}.anthropic.messages`;
    super(modelId, server, { provider, path: "/messages", headers: { "anthropic-version": version, ...key } }, limits);
  }

  protected override requestOf(options: LanguageModelV4CallOptions, stream: boolean): MessagesRequest {
    return messagesRequest(options, this.modelId, stream);
  }

  protected override answerOf(request: MessagesRequest, head: AnswerHead, options: WireAnswerOptions): MessagesEvents {
    const { warnings, answerTool } = request;
    return new MessagesEvents(head, { ...options, warnings, answerTool });
  }
}
