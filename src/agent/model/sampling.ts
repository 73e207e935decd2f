import type { LanguageModelV4FilePart, LanguageModelV4Message, LanguageModelV4TextPart } from "@ai-sdk/provider";
import { ToolkitError } from "../../core/error.ts";
import type { SampleContent, SampleMessage, SampleRequest, SampleResult } from "../../core/interaction.ts";
import { present } from "../../lib/value.ts";
import { generate, type ModelCall } from "./model-call.ts";
import { type ChosenModel, type Models, modelRefOf } from "./models.ts";
import { assertAnswered, textIn } from "./reply.ts";

/** Finish reasons in the words of MCP. */
const stopReasons: Readonly<Record<string, string>> = { stop: "endTurn", length: "maxTokens" };

/**
 * Answers a server or a tool that asks for a completion (MCP's sampling), without tools. The first hint that names a registered model
 * chooses it, else it is the default.
 *
 * @throws ToolkitError as a call of a model does; `INVALID_INPUT` without a usable hint where there is no default
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
  return { role: "assistant", content: { type: "text", text: textIn(reply) }, model: modelRefOf(chosen), stopReason };
}

/** The first hint that names a registered model, else the default. */
async function chooseModel({ modelPreferences }: SampleRequest, models: Models): Promise<ChosenModel> {
  for (const { name } of modelPreferences?.hints ?? []) {
    if (name === undefined) continue;
    try {
      return await models.choose({ model: name });
    } catch (error) {
      // A hint may name a model that is not registered.
      if (!ToolkitError.is(error)) throw error;
    }
  }
  return models.choose({});
}

/** A message of MCP in the form of the model port. */
function messageOf({ role, content }: SampleMessage): LanguageModelV4Message {
  return { role, content: [content].flat().map(partOf) };
}

/** Text, an image or audio. */
function partOf(block: SampleContent): LanguageModelV4TextPart | LanguageModelV4FilePart {
  if (block.type === "text") return { type: "text", text: block.text };
  return { type: "file", mediaType: block.mimeType, data: { type: "data", data: block.data } };
}
