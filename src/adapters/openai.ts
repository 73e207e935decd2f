import { assertOptionNames } from "../core/options.ts";
import { isRecord, present } from "../lib/value.ts";
import type { ToolCall, ToolChoice, ToolDefinitionForModel } from "../toolset/toolset-types.ts";
import { type AnswerPart, answerParts, mention, textOfParts } from "./answer-content.ts";
import type {
  OpenAIAdapters,
  OpenAIApi,
  OpenAIChatAdapter,
  OpenAIChatTool,
  OpenAIChatToolChoice,
  OpenAIOptions,
  OpenAIOutputPart,
  OpenAIResponsesAdapter,
  OpenAIResponsesTool,
  OpenAIResponsesToolChoice,
} from "./openai-form.ts";
import { openAIProjection, openAIStrictProjection } from "./projection/openai-schema.ts";
import { type AdaptedTools, argumentsOf, cachedWriter, recordsIn, ToolWriter } from "./tool-writer.ts";

/**
 * The tools of a toolset for OpenAI; also parses its calls and writes its results.
 *
 * @example
 * ```ts
 * const run = toolset.begin();
 * const openai = toOpenAI(toolset, { api: "chat", run });
 * const { choices } = await client.chat.completions.create({ model, messages, tools: openai.tools, tool_choice: openai.toolChoice });
 * const answers = await run.execute(openai.calls(choices[0].message));
 * messages.push(choices[0].message, ...(await openai.results(answers)));
 * ```
 */
export function toOpenAI<A extends OpenAIApi>(offered: AdaptedTools, options: OpenAIOptions<A>): OpenAIAdapters[A] {
  assertOptionNames(options, { api: true, strict: true, run: true }, "of toOpenAI");
  const { api, strict = true, run = offered } = options;
  const adapters: { readonly [K in OpenAIApi]: () => OpenAIAdapters[K] } = {
    chat: () => chatAdapter(run, strict),
    responses: () => responsesAdapter(run, strict),
  };
  return adapters[api]();
}

const writers = {
  chat: {
    true: cachedWriter((definition) => chatTool(definition, true)),
    false: cachedWriter((d) => chatTool(d, false)),
  },
  responses: {
    true: cachedWriter((definition) => responsesTool(definition, true)),
    false: cachedWriter((definition) => responsesTool(definition, false)),
  },
};

function chatAdapter(offered: AdaptedTools, strict: boolean): OpenAIChatAdapter {
  const writer = new ToolWriter(offered, writers.chat[`${strict}`]);
  return {
    get tools() {
      return writer.tools();
    },
    get toolChoice() {
      return chatChoice(writer.choice());
    },
    get lost() {
      return writer.lost();
    },
    calls: (message) =>
      recordsIn(isRecord(message) ? message.tool_calls : undefined).flatMap((call) => chatCall(call, writer)),
    results: (answers) =>
      Promise.all(
        answers.map(async (answer) => ({
          role: "tool",
          tool_call_id: answer.id,
          content: textOfParts(await answerParts(answer)),
        })),
      ),
  };
}

function responsesAdapter(offered: AdaptedTools, strict: boolean): OpenAIResponsesAdapter {
  const writer = new ToolWriter(offered, writers.responses[`${strict}`]);
  return {
    get tools() {
      return writer.tools();
    },
    get toolChoice() {
      return responsesChoice(writer.choice());
    },
    get lost() {
      return writer.lost();
    },
    calls: (given) =>
      recordsIn(isRecord(given) ? given.output : given)
        .filter(({ type }) => type === "function_call")
        .map(({ call_id, name, arguments: text }) => toCall(call_id, name, text, writer)),
    results: (answers) =>
      Promise.all(
        answers.map(async (answer) => ({
          type: "function_call_output",
          call_id: answer.id,
          output: outputOf(await answerParts(answer)),
        })),
      ),
  };
}

function chatChoice(choice: ToolChoice | undefined): OpenAIChatToolChoice | undefined {
  return typeof choice === "object" ? { type: "function", function: { name: choice.tool } } : choice;
}

function responsesChoice(choice: ToolChoice | undefined): OpenAIResponsesToolChoice | undefined {
  return typeof choice === "object" ? { type: "function", name: choice.tool } : choice;
}

function functionOf({ name, description, inputSchema }: ToolDefinitionForModel, strict: boolean) {
  const projection = (strict ? openAIStrictProjection : openAIProjection)(inputSchema);
  const fields = { name, description, parameters: projection.schema, strict: projection.strict };
  return { fields: present(fields), projection };
}

function chatTool(definition: ToolDefinitionForModel, strict: boolean) {
  const { fields, projection } = functionOf(definition, strict);
  const tool: OpenAIChatTool = { type: "function", function: fields };
  return { tool, projection };
}

function responsesTool(definition: ToolDefinitionForModel, strict: boolean) {
  const { fields, projection } = functionOf(definition, strict);
  const tool: OpenAIResponsesTool = { type: "function", ...fields };
  return { tool, projection };
}

function chatCall(call: Readonly<Record<string, unknown>>, writer: ToolWriter<unknown>): readonly ToolCall[] {
  const called = isRecord(call.function) ? call.function : undefined;
  return called === undefined ? [] : [toCall(call.id, called.name, called.arguments, writer)];
}

function toCall(id: unknown, name: unknown, given: unknown, writer: ToolWriter<unknown>): ToolCall {
  const input = writer.input(String(name), argumentsOf(given));
  return { id: String(id), name: String(name), input };
}

const images = new Set(["image/png", "image/jpeg", "image/webp", "image/gif"]);

function outputOf(parts: readonly AnswerPart[]): string | OpenAIOutputPart[] {
  return parts.every(({ kind }) => kind !== "media") ? textOfParts(parts) : parts.map(outputPart);
}

function outputPart(part: AnswerPart): OpenAIOutputPart {
  if (part.kind !== "media") return { type: "input_text", text: part.text };
  const url = `data:${part.mediaType};base64,${part.base64}`;
  if (images.has(part.mediaType)) return { type: "input_image", image_url: url, detail: "auto" };
  if (part.mediaType === "application/pdf") return { type: "input_file", filename: part.name, file_data: url };
  return { type: "input_text", text: mention(part) };
}
