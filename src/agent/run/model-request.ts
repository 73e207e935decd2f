import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Prompt,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import { anthropicProjection } from "../../adapters/projection/plain-schema.ts";
import { type AdaptedTools, cachedWriter, ToolWriter } from "../../adapters/tool-writer.ts";
import type { ModelSettings } from "../../core/model-settings.ts";
import { present } from "../../lib/value.ts";
import type { ToolChoice, ToolDefinitionForModel } from "../../toolset/toolset-types.ts";
import type { StructuredForm } from "./answer-form.ts";

/** The tools of a run in the form of the model port, and the way back from a model's calls. */
export type PortTools = ToolWriter<LanguageModelV4FunctionTool>;

export function portTools(offered: AdaptedTools): PortTools {
  return new ToolWriter(offered, write);
}

/** The same object for the same definition, from step to step and from run to run. */
const write = cachedWriter(({ name, description, inputSchema }: ToolDefinitionForModel) => {
  // The narrowest rules that lose nothing: no combination at the top, which several providers refuse.
  const projection = anthropicProjection(inputSchema);
  // The port is typed with draft 7; providers take what both drafts have.
  const schema = projection.schema as LanguageModelV4FunctionTool["inputSchema"];
  const tool: LanguageModelV4FunctionTool = { type: "function", name, inputSchema: schema };
  if (description !== undefined) tool.description = description;
  return { tool, projection };
});

/** What a model is asked in one step. */
export interface StepRequest {
  readonly system: string;
  readonly messages: LanguageModelV4Prompt;
  readonly tools: PortTools | undefined;
  readonly form: StructuredForm | undefined;
  readonly settings: ModelSettings;
  /** What makes it think, in the form of its provider. */
  readonly thinking: Pick<LanguageModelV4CallOptions, "reasoning" | "providerOptions">;
}

/** The request, in the form of the model port. */
export function modelRequest(step: StepRequest): Omit<LanguageModelV4CallOptions, "abortSignal"> {
  const { system, messages, tools, form, settings, thinking } = step;
  const { stopSequences, ...numbers } = settings;
  const choice = tools?.choice();
  return present({
    prompt: system === "" ? messages : [{ role: "system" as const, content: system }, ...messages],
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
