import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import type { AnswerHead } from "../wire/answer-errors.ts";
import { answerLimits } from "../wire/answer-reader.ts";
import { type AnswerOptions, WireModel, type WireServerOptions } from "../wire/wire-model.ts";
import { MessagesEvents } from "./messages-events.ts";
import { type MessagesRequest, messagesRequest } from "./messages-request.ts";

/** The version of the API. */
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

  protected override answerOf(request: MessagesRequest, head: AnswerHead, options: AnswerOptions): MessagesEvents {
    const { warnings, answerTool } = request;
    return new MessagesEvents(head, { ...options, warnings, answerTool });
  }
}
