import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4TextPart } from "@ai-sdk/provider";
import { ToolkitError } from "../core/error.ts";
import type { SampleContent, SampleMessage, SampleRequest, SampleResult } from "../core/interaction.ts";
import { present } from "../lib/value.ts";
import { generate, type ModelCall } from "./model/model-call.ts";
import { refOf } from "./model/model-ref.ts";
import type { ChosenModel, Models } from "./model/models.ts";
import { textIn } from "./run/reply.ts";
import { assertAnswered } from "./run/run-failure.ts";

/** The words of MCP for why a model stopped. */
const stopReasons: Readonly<Record<string, string>> = { stop: "endTurn", length: "maxTokens" };

/**
 * Answers a server, or a tool, that asks for a model: one answer, without tools. The first hint that names a registered model chooses it,
 * else it is the default.
 *
 * @throws ToolkitError as a model that is asked does; `INVALID_INPUT` where no model is named and there is no default
 * @see https://modelcontextprotocol.io/specification/2025-11-25/client/sampling
 */
export async function sampled(request: SampleRequest, models: Models, call: ModelCall): Promise<SampleResult> {
  const chosen = await chooseModel(request, models);
  const { systemPrompt, maxTokens, temperature, stopSequences } = request;
  const system: LanguageModelV4Message[] =
    systemPrompt === undefined ? [] : [{ role: "system", content: systemPrompt }];
  const question = present({
    prompt: [...system, ...request.messages.map(messageOf)],
    maxOutputTokens: maxTokens,
    temperature,
    stopSequences: stopSequences === undefined ? undefined : [...stopSequences],
  });
  const { content, finishReason, usage } = await generate(chosen, question, call);
  const reply = { content, usage, finishReason: finishReason.unified };
  assertAnswered(reply, chosen);
  const stopReason = stopReasons[reply.finishReason] ?? reply.finishReason;
  return { role: "assistant", content: { type: "text", text: textIn(reply) }, model: refOf(chosen), stopReason };
}

async function chooseModel({ modelPreferences }: SampleRequest, models: Models): Promise<ChosenModel> {
  for (const { name } of modelPreferences?.hints ?? []) {
    if (name === undefined) continue;
    try {
      return await models.choose({ model: name });
    } catch (error) {
      // A hint is a wish.
      if (!ToolkitError.is(error)) throw error;
    }
  }
  return models.choose({});
}

function messageOf({ role, content }: SampleMessage): LanguageModelV4Message {
  return { role, content: [content].flat().map(partOf) };
}

function partOf(block: SampleContent): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (block.type === "text") return { type: "text", text: block.text };
  return { type: "file", mediaType: block.mimeType, data: { type: "data", data: block.data } };
}
