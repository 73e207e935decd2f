import type { LanguageModelV4FunctionTool, LanguageModelV4Prompt, LanguageModelV4ToolChoice } from "@ai-sdk/provider";
import { anthropicProjection } from "../../adapters/projection/plain-schema.ts";
import { cachedWriter, type ToolWriter } from "../../adapters/tool-writer.ts";
import type { ModelSettings } from "../../core/model-settings.ts";
import { present } from "../../lib/value.ts";
import type { ToolChoice, ToolDefinitionForModel } from "../../toolset/toolset-types.ts";
import type { ModelQuestion, ThinkingOptions } from "../model/provider-quirks.ts";
import type { StructuredForm } from "./run-answer.ts";

/** Writes the tools of a run in the form of the model port, and restores the inputs of its calls. */
export type PortTools = ToolWriter<LanguageModelV4FunctionTool>;

/** The same object for the same definition, from step to step and from run to run. */
export const writePortTool = cachedWriter(({ name, description, inputSchema }: ToolDefinitionForModel) => {
  // The rules of Anthropic lose no constraint, and keep out a combination at the top, which several providers refuse.
  const projection = anthropicProjection(inputSchema);
  // The port is typed with draft 7; providers accept keywords that both drafts have.
  const schema = projection.schema as LanguageModelV4FunctionTool["inputSchema"];
  const tool: LanguageModelV4FunctionTool = { type: "function", name, inputSchema: schema };
  if (description !== undefined) tool.description = description;
  return { tool, projection };
});

/** The request of one step. */
export interface StepRequest {
  readonly system: string;
  readonly messages: LanguageModelV4Prompt;
  readonly tools: PortTools | undefined;
  readonly form: StructuredForm | undefined;
  readonly settings: ModelSettings;
  /** Options for thinking, in the form of the provider. */
  readonly thinking: ThinkingOptions;
}

/** The request in the form of the model port. */
export function modelRequest(step: StepRequest): ModelQuestion {
  const { system, messages, tools, form, settings, thinking } = step;
  const { stopSequences, ...numbers } = settings;
  const choice = tools?.choice();
  return present({
    // A list of its own: what the model was sent does not grow with the conversation.
    prompt: [...(system === "" ? [] : [{ role: "system" as const, content: system }]), ...messages],
    tools: tools?.tools(),
    toolChoice: choice === undefined ? undefined : choiceOf(choice),
    responseFormat: form?.responseFormat,
    stopSequences: stopSequences === undefined ? undefined : [...stopSequences],
    ...numbers,
    ...thinking,
  });
}

function choiceOf(choice: ToolChoice): LanguageModelV4ToolChoice {
  return typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.tool };
}
